// How much jobs slow each other down on one node, learned from the step times that they report:
// alone, and beside one other kind of job. A kind is a job's name. Part of the state: every figure
// is a fold of the journal.
//
//   if (interference.slow_down("train", "prep") > kSlowDownMax) keep them apart
//
// What holds for a job alone depends on its shape; a figure is used only beside the same shape.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace paceline {

// A mean of the newest values: each new one counts for kWeight, once there are enough of them.
struct Mean {
  static constexpr double kWeight = 0.2;

  double value = 0;
  std::uint32_t count = 0;
  std::uint64_t seq = 0;  // of the entry that changed it last; the oldest make room

  void add(double sample, std::uint64_t at);
  friend bool operator==(const Mean&, const Mean&) = default;
};

// A job's step time means the same only on the same devices at the same size.
struct Shape {
  std::string name;
  std::string model;
  std::int32_t workers = 0;
  std::int32_t nodes = 0;
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

class Interference {
 public:
  static constexpr std::size_t kShapesMax = 1'000;
  static constexpr std::size_t kPairsMax = 2'000;  // two for each pair of names

  // A step took so long with nobody else on the job's nodes / with jobs of one other kind there.
  void ran_alone(const Shape& shape, double step_seconds, std::uint64_t seq);
  void ran_beside(const Shape& shape, const std::string& neighbour, double step_seconds,
                  std::uint64_t seq);

  // The larger of what the two do to each other, as a part of the step time: 0.2 is 20 %; 0 if
  // nothing is known.
  [[nodiscard]] double slow_down(const std::string& a, const std::string& b) const;
  // Is anything known of jobs of that name beside others?
  [[nodiscard]] bool knows(const std::string& name) const;

  std::map<Shape, Mean> alone;
  // Step times of the first beside the second, as a factor of those alone: 1.2 is 20 % slower. Both
  // orders of two names are there, or neither.
  std::map<std::pair<std::string, std::string>, Mean> pairs;

  friend bool operator==(const Interference&, const Interference&) = default;

 private:
  void add_pair(const std::string& a, const std::string& b, std::uint64_t seq);
};

// More than this separates two jobs, where there is another place as good.
inline constexpr double kSlowDownMax = 0.10;
// A figure counts once it has been measured so often.
inline constexpr std::uint32_t kSlowDownSamples = 3;

}  // namespace paceline
