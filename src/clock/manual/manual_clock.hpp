// A clock that stands still until it is moved: tests and replays decide what time it is. Any thread
// may read it.
//
//   ManualClock clock(time_from_us(0));
//   clock.advance(std::chrono::minutes{5});
#pragma once

#include <atomic>

#include "base/check.hpp"
#include "clock/clock.hpp"

namespace paceline {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start = {}) : now_us_(to_us(start)) {}

  Time now() override { return time_from_us(now_us_.load()); }

  // REQUIRES: not back.
  void set(Time time) {
    check(to_us(time) >= now_us_.load(), "a clock never goes back");
    now_us_.store(to_us(time));
  }
  // REQUIRES: not back.
  void advance(Duration span) { set(now() + span); }

 private:
  std::atomic<std::int64_t> now_us_;
};

}  // namespace paceline
