#include "store/point_choice.hpp"

#include <utility>

namespace paceline {

bool PointChoice::keeps(std::uint64_t number, const std::map<std::string, double>& values) {
  if (last_ <= kThinnedPoints) return true;
  const std::uint64_t stretch = (number - 1) * kThinnedPoints / last_;
  if (std::exchange(stretch_, stretch) != stretch) seen_.clear();
  bool fresh = values.empty() && seen_.insert(std::string()).second;
  for (const auto& [name, value] : values) fresh = seen_.insert(name).second || fresh;
  return fresh;
}

}  // namespace paceline
