// The time line, and beside it what a clock on the wall shows. Time is data: a point on the line is
// handed in (an event's time, a snapshot's `now`), never read from here.
//
// The line passes while the server's machine is awake and never jumps: every span is a difference
// of two points on it. It began as the wall clock did, in microseconds since 1970-01-01 UTC; where
// that stands now, the state knows (model/wall_clock.hpp). A replay may start anywhere.
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

// What the clock on the wall shows: names an instant to people. It may be set to anything at any
// time, so nothing is ever measured by it.
struct Wall {
  using rep = std::int64_t;
  using period = std::micro;
  using duration = Duration;
  using time_point = std::chrono::time_point<Wall, Duration>;
  static constexpr bool is_steady = false;
};

using WallTime = Wall::time_point;

constexpr WallTime wall_from_us(std::int64_t us) { return WallTime{Duration{us}}; }
constexpr std::int64_t to_us(WallTime t) { return t.time_since_epoch().count(); }

// Seconds as a double, for arithmetic on rates; exact to a microsecond for some hundred years.
constexpr double to_seconds(Duration d) { return static_cast<double>(d.count()) * 1e-6; }
constexpr double to_seconds(Time t) { return to_seconds(t.time_since_epoch()); }
constexpr double to_seconds(WallTime t) { return to_seconds(t.time_since_epoch()); }
// Cut to some thousand years each way.
constexpr Duration from_seconds(double s) {
  constexpr double kMost = 1e11;
  if (s > kMost) s = kMost;
  if (s < -kMost) s = -kMost;
  return Duration{static_cast<std::int64_t>(s * 1e6 + (s < 0 ? -0.5 : 0.5))};
}

}  // namespace paceline
