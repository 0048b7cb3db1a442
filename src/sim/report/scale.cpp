#include "sim/report/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/axis.hpp"

namespace paceline::sim {
namespace {

constexpr double kLargestWanted = 10;  // of a column, so that smaller numbers have digits, too

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, value);
  return largest;
}

int decimals_for(double largest) {
  if (largest >= 1'000) return 0;
  return largest >= 10 ? 1 : 2;
}

}  // namespace

Scale Scale::of_times(std::span<const double> seconds) {
  const double largest = largest_of(seconds);
  const TimeUnit unit = unit_for(largest / kLargestWanted);
  Scale scale;
  scale.unit_ = unit.seconds;
  scale.decimals_ = decimals_for(largest / unit.seconds);
  scale.name_ = unit.name;
  return scale;
}

Scale Scale::of_parts() {
  Scale scale;
  scale.unit_ = 0.01;
  scale.decimals_ = 1;
  scale.name_ = "%";
  return scale;
}

Scale Scale::of_counts(std::span<const double> counts) {
  const bool whole = std::ranges::all_of(counts, [](double n) { return n == std::floor(n); });
  Scale scale;
  scale.decimals_ = whole ? 0 : decimals_for(largest_of(counts));
  return scale;
}

std::string Scale::text(double value) const {
  return fmt::format("{:.{}f}", value / unit_, decimals_);
}

std::string Scale::title(const std::string& measure) const {
  return name_.empty() ? measure : fmt::format("{}, {}", measure, name_);
}

}  // namespace paceline::sim
