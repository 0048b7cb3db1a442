// The time line. Time is data: a point on it is handed in (an event's time, a snapshot's `now`),
// never read from here. Points are microseconds since 1970-01-01 UTC; a replay may start anywhere.
#pragma once

#include <chrono>
#include <cstdint>

namespace paceline {

using Duration = std::chrono::microseconds;

// A time line without now(): reading the time is the business of clock/.
struct Timeline {
  using rep = std::int64_t;
  using period = std::micro;
  using duration = Duration;
  using time_point = std::chrono::time_point<Timeline, Duration>;
  static constexpr bool is_steady = false;
};

using Time = Timeline::time_point;

constexpr Time time_from_us(std::int64_t us) { return Time{Duration{us}}; }
constexpr std::int64_t to_us(Time t) { return t.time_since_epoch().count(); }

// Seconds as a double, for arithmetic on rates; exact to a microsecond for some hundred years.
constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-6; }
constexpr double to_seconds(Time t) { return to_seconds(t.time_since_epoch()); }
constexpr Duration from_seconds(double s) {
  return Duration{static_cast<std::int64_t>(s * 1e6 + (s < 0 ? -0.5 : 0.5))};
}

}  // namespace paceline
