#include "model/limits.hpp"

#include <algorithm>
#include <utility>

namespace paceline {

const Limit* find_limit(std::string_view name) {
  const auto* const found = std::ranges::find(kLimits, name, &Limit::name);
  return found == kLimits.end() ? nullptr : found;
}

std::string limit_text(LimitUnit unit, std::uint64_t value) {
  if (unit == LimitUnit::count) return std::to_string(value);
  constexpr std::pair<std::uint64_t, std::string_view> kUnits[] = {
      {std::uint64_t{1} << 40, "T"}, {1U << 30, "G"}, {1U << 20, "M"}, {1U << 10, "K"}};
  for (const auto& [size, letter] : kUnits) {
    if (value >= size && value % size == 0) return std::to_string(value / size).append(letter);
  }
  return std::to_string(value);
}

}  // namespace paceline
