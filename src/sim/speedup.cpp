#include "sim/speedup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/check.hpp"

namespace paceline::sim {
namespace {

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<std::pair<std::int32_t, double>>> parse_points(std::string_view text) {
  std::vector<std::pair<std::int32_t, double>> points;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view point = text.substr(0, end);
    const std::size_t colon = std::min(point.find(':'), point.size());
    const auto size = number_of<std::int32_t>(point.substr(0, colon));
    const auto speed = number_of<double>(point.substr(std::min(colon + 1, point.size())));
    if (!size || !speed || *size < 1 || !std::isfinite(*speed) || *speed <= 0) return std::nullopt;
    if (!points.empty() && points.back().first >= *size) return std::nullopt;
    points.emplace_back(*size, *speed);
    if (end == text.size()) return points;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Speedup Speedup::amdahl(double serial) {
  check(serial >= 0 && serial <= 1, "a serial part is a part");
  Speedup speedup;
  speedup.serial_ = serial;
  return speedup;
}

Speedup Speedup::table(std::vector<std::pair<std::int32_t, double>> points) {
  check(!points.empty(), "a table of speed-ups has a size");
  Speedup speedup;
  speedup.points_ = std::move(points);
  return speedup;
}

double Speedup::of(std::int32_t workers) const {
  if (workers <= 0) return 0;
  if (points_.empty())
    return serial_ == 0 ? workers : 1 / (serial_ + (1 - serial_) / static_cast<double>(workers));
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), workers,
                       [](const auto& point, std::int32_t n) { return point.first < n; });
  if (above == points_.end()) return points_.back().second;
  if (above->first == workers) return above->second;
  const auto below = above == points_.begin() ? std::pair<std::int32_t, double>{0, 0} : above[-1];
  const double part = static_cast<double>(workers - below.first) / (above->first - below.first);
  return below.second + part * (above->second - below.second);
}

std::string Speedup::text() const {
  if (points_.empty()) return serial_ == 0 ? "linear" : fmt::format("amdahl={}", serial_);
  std::string text = "table=";
  for (const auto& [size, speed] : points_) text += fmt::format("{}:{},", size, speed);
  text.pop_back();
  return text;
}

Result<Speedup> parse_speedup(std::string_view text) {
  constexpr std::string_view kAmdahl = "amdahl=", kTable = "table=";
  if (text == "linear") return Speedup::linear();
  if (text.starts_with(kAmdahl)) {
    const auto serial = number_of<double>(text.substr(kAmdahl.size()));
    if (serial && *serial >= 0 && *serial <= 1) return Speedup::amdahl(*serial);
  }
  if (text.starts_with(kTable)) {
    if (auto points = parse_points(text.substr(kTable.size())))
      return Speedup::table(std::move(*points));
  }
  return fail(ErrorCode::invalid, fmt::format("'{}' is no speed-up.", text),
              "Give linear, amdahl=0.05 or table=1:1,2:1.9,4:3.5.");
}

}  // namespace paceline::sim
