// Which points of a job stay when its curves are thinned: of its points, by their numbers, there are
// kThinnedPoints stretches of equal length, and in each the newest point of every metric stays. So a
// metric that is reported seldom stays as well, and thinning once more changes nothing.
//
//   PointChoice choice(last_number);
//   for (point, from the newest on) if (!choice.keeps(number, point.values)) drop(number);
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace paceline {

inline constexpr std::uint64_t kThinnedPoints = 1'000;  // stretches

class PointChoice {
 public:
  // `last`: the number of the newest point.
  explicit PointChoice(std::uint64_t last) : last_(last) {}

  // REQUIRES: asked of each point in turn, the newest first.
  bool keeps(std::uint64_t number, const std::map<std::string, double>& values);

 private:
  std::uint64_t last_;
  std::uint64_t stretch_ = kThinnedPoints;  // none yet
  std::set<std::string> seen_;              // metrics of the stretch
};

}  // namespace paceline
