// Tables that people type, "1:1,2:1.9,4:3.5", and their values in between.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline {

// Nothing but the number, and finite.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(static_cast<double>(number))) return std::nullopt;
  return number;
}

template <class X>
using Points = std::vector<std::pair<X, double>>;

// At least one; the first of each pair rises.
template <class X>
std::optional<Points<X>> parse_points(std::string_view text) {
  Points<X> points;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view point = text.substr(0, end);
    const std::size_t colon = std::min(point.find(':'), point.size());
    const auto x = number_of<X>(point.substr(0, colon));
    const auto y = number_of<double>(point.substr(std::min(colon + 1, point.size())));
    if (!x || !y || (!points.empty() && points.back().first >= *x)) return std::nullopt;
    points.emplace_back(*x, *y);
    if (end == text.size()) return points;
    text.remove_prefix(end + 1);
  }
}

// Linear in between, flat beyond both ends. REQUIRES: there is a point; the first of each pair rises.
template <class X>
double value_at(const Points<X>& points, X x) {
  const auto above = std::lower_bound(points.begin(), points.end(), x,
                                      [](const auto& point, X at) { return point.first < at; });
  if (above == points.end()) return points.back().second;
  if (above == points.begin() || above->first == x) return above->second;
  const auto& below = above[-1];
  const double part = static_cast<double>(x - below.first) / (above->first - below.first);
  return below.second + part * (above->second - below.second);
}

template <class X>
std::string points_text(const Points<X>& points) {
  std::string text;
  for (const auto& [x, y] : points) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", x, y);
  return text;
}

}  // namespace paceline
