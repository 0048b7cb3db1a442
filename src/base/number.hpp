// Whole numbers and fractions as std::from_chars reads them, where nothing else may stand beside them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace paceline {

// Nothing: `text` is not such a number from end to end, or it doesn't fit.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace paceline
