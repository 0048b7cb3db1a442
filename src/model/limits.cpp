#include "model/limits.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace paceline {

const Limit* find_limit(std::string_view name) {
  const auto* const found = std::ranges::find(kLimits, name, &Limit::name);
  return found == kLimits.end() ? nullptr : found;
}

std::string_view to_string(LimitUnit unit) {
  constexpr std::array<std::string_view, 3> kWords = {"count", "bytes", "seconds"};
  return kWords.at(static_cast<std::size_t>(unit));
}

std::optional<LimitUnit> parse_limit_unit(std::string_view text) {
  for (const auto unit : {LimitUnit::count, LimitUnit::bytes, LimitUnit::seconds})
    if (to_string(unit) == text) return unit;
  return std::nullopt;
}

std::string limit_text(LimitUnit unit, std::uint64_t value) {
  using Unit = std::pair<std::uint64_t, std::string_view>;
  constexpr std::array kBytes = {Unit{std::uint64_t{1} << 40, "T"}, Unit{1U << 30, "G"},
                                 Unit{1U << 20, "M"}, Unit{1U << 10, "K"}};
  constexpr std::array kSpans = {Unit{24 * 3600, "d"}, Unit{3600, "h"}, Unit{60, "m"},
                                 Unit{1, "s"}};
  if (unit == LimitUnit::count) return std::to_string(value);
  for (const auto& [size, letter] : unit == LimitUnit::bytes ? kBytes : kSpans) {
    if (value >= size && value % size == 0) return std::to_string(value / size).append(letter);
  }
  return std::to_string(value);
}

}  // namespace paceline
