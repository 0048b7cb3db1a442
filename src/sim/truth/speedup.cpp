#include "sim/truth/speedup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.hpp"
#include "estimate/scaling.hpp"

namespace paceline::sim {
namespace {

std::optional<Points<std::int32_t>> parse_sizes(std::string_view text) {
  auto points = parse_points<std::int32_t>(text);
  if (!points) return std::nullopt;
  const bool usable = std::ranges::all_of(
      *points, [](const auto& point) { return point.first >= 1 && point.second > 0; });
  return usable ? std::move(points) : std::nullopt;
}

}  // namespace

Speedup Speedup::amdahl(double serial) {
  check(serial >= 0 && serial <= 1, "a serial part is a part");
  Speedup speedup;
  speedup.serial_ = serial;
  return speedup;
}

Speedup Speedup::table(Points<std::int32_t> points) {
  check(!points.empty(), "a table of speed-ups has a size");
  Speedup speedup;
  speedup.points_ = std::move(points);
  return speedup;
}

double Speedup::of(std::int32_t workers) const {
  if (workers <= 0) return 0;
  if (points_.empty())
    return serial_ == 0 ? workers : 1 / (serial_ + (1 - serial_) / static_cast<double>(workers));
  return speed_in(points_, workers);
}

std::string Speedup::text() const {
  if (points_.empty()) return serial_ == 0 ? "linear" : fmt::format("amdahl={}", serial_);
  return fmt::format("table={}", points_text(points_));
}

Result<Speedup> parse_speedup(std::string_view text) {
  constexpr std::string_view kAmdahlIs = "amdahl=", kTableIs = "table=";
  if (text == "linear") return Speedup::linear();
  if (text.starts_with(kAmdahlIs)) {
    const auto serial = number_of<double>(text.substr(kAmdahlIs.size()));
    if (serial && *serial >= 0 && *serial <= 1) return Speedup::amdahl(*serial);
  }
  if (text.starts_with(kTableIs)) {
    if (auto points = parse_sizes(text.substr(kTableIs.size())))
      return Speedup::table(std::move(*points));
  }
  return fail(
      ErrorCode::invalid, fmt::format("'{}' is no speed-up.", text),
      "Give linear, amdahl=0.05, table=1:1,2:1.9,4:3.5 or, where there are profiles, profile.");
}

}  // namespace paceline::sim
