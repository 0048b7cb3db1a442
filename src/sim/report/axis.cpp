#include "sim/report/axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace paceline::sim {
namespace {

constexpr double kMinute = 60, kHour = 3'600, kDay = 86'400;
constexpr double kTicksWanted = 8;
constexpr std::size_t kLogTicksMax = 7;

constexpr std::array<TimeUnit, 4> kUnits{{{"d", kDay}, {"h", kHour}, {"min", kMinute}, {"s", 1}}};

// Steps that people count time in.
constexpr std::array kSteps{0.1,          0.2,          0.5,          1.0,          2.0,
                            5.0,          10.0,         15.0,         30.0,         kMinute,
                            2 * kMinute,  5 * kMinute,  10 * kMinute, 15 * kMinute, 30 * kMinute,
                            kHour,        2 * kHour,    3 * kHour,    6 * kHour,    12 * kHour,
                            kDay,         2 * kDay,     5 * kDay,     10 * kDay,    20 * kDay,
                            50 * kDay,    100 * kDay,   200 * kDay,   500 * kDay,   1'000 * kDay,
                            2'000 * kDay, 5'000 * kDay, 10'000 * kDay};
// Those that a logarithmic axis may have, each about three times the last; every other is a round
// one.
constexpr std::array kMarks{1.0,         3.0,          10.0,         30.0,         kMinute,
                            3 * kMinute, 10 * kMinute, 30 * kMinute, kHour,        3 * kHour,
                            10 * kHour,  kDay,         3 * kDay,     10 * kDay,    30 * kDay,
                            100 * kDay,  300 * kDay,   1'000 * kDay, 3'000 * kDay, 10'000 * kDay};
constexpr std::array kRoundMarks{1.0,        10.0,         kMinute,      10 * kMinute,
                                 kHour,      10 * kHour,   kDay,         10 * kDay,
                                 100 * kDay, 1'000 * kDay, 10'000 * kDay};

std::string label_of(double seconds, const TimeUnit& unit) {
  if (seconds == 0) return "0";
  return fmt::format("{:.6g} {}", seconds / unit.seconds, unit.name);
}

template <std::size_t N>
std::vector<Tick> ticks_between(const std::array<double, N>& marks, double from, double until) {
  std::vector<Tick> ticks;
  for (const double mark : marks) {
    if (mark >= from && mark <= until) ticks.push_back({mark, label_of(mark, unit_for(mark))});
  }
  return ticks;
}

}  // namespace

TimeUnit unit_for(double seconds) {
  for (const TimeUnit& unit : kUnits) {
    if (seconds >= unit.seconds) return unit;
  }
  return kUnits.back();
}

std::string short_number(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 99.95 ? 0 : (size >= 9.995 ? 1 : 2);
  return fmt::format("{:.{}f}", value, decimals);
}

std::string span_text(double seconds) {
  const TimeUnit unit = unit_for(seconds);
  if (seconds == 0) return "0 s";
  return fmt::format("{} {}", short_number(seconds / unit.seconds), unit.name);
}

Axis Axis::time(double from, double until, std::string title) {
  Axis axis;
  axis.from_ = from;
  axis.until_ = until;
  axis.title_ = std::move(title);
  const auto fits = std::find_if(kSteps.begin(), kSteps.end() - 1,
                                 [&](double step) { return until - from <= step * kTicksWanted; });
  const double step = std::max(*fits, (until - from) / 100);
  const TimeUnit unit = unit_for(step);
  for (double tick = std::ceil(from / step); tick * step <= until; ++tick)
    axis.ticks_.push_back({tick * step, label_of(tick * step, unit)});
  return axis;
}

Axis Axis::log_time(double least, double most, std::string title) {
  Axis axis;
  axis.log_ = true;
  axis.title_ = std::move(title);
  const auto above = std::upper_bound(kMarks.begin() + 1, kMarks.end() - 1, least);
  axis.from_ = above[-1];
  axis.until_ = *std::lower_bound(above, kMarks.end() - 1, most);
  axis.ticks_ = ticks_between(kMarks, axis.from_, axis.until_);
  if (axis.ticks_.size() > kLogTicksMax)
    axis.ticks_ = ticks_between(kRoundMarks, axis.from_, axis.until_);
  return axis;
}

Axis Axis::part(std::string title) {
  Axis axis;
  axis.title_ = std::move(title);
  for (int percent = 0; percent <= 100; percent += 20)
    axis.ticks_.push_back({percent / 100.0, fmt::format("{} %", percent)});
  return axis;
}

double Axis::place(double value) const {
  const double inside = std::clamp(value, from_, until_);
  if (log_) return std::log(inside / from_) / std::log(until_ / from_);
  return (inside - from_) / (until_ - from_);
}

}  // namespace paceline::sim
