// A machine's clock. The time line is its monotonic clock (CLOCK_MONOTONIC), put where the wall clock
// stood when the first server began: setting the wall clock moves nothing, and while the machine
// sleeps or is off no time passes, since no job can run either.
//
//   SystemClock clock;
//   clock.resume(state.at(), state.boot());   // goes on where the journal ends
//   Time now = clock.now();
//
// Any thread may call it, once it was resumed.
#pragma once

#include <functional>

#include "clock/clock.hpp"

namespace paceline {

class SystemClock final : public Clock {
 public:
  // Of this machine.
  SystemClock();
  explicit SystemClock(ClockSources sources);

  Time now() override { return boot_.at + sources_.steady(); }
  WallTime wall() override { return sources_.wall(); }
  [[nodiscard]] const Boot* boot() const override { return &boot_; }
  void resume(Time last, const std::optional<Boot>& boot) override;

 private:
  ClockSources sources_;
  Boot boot_;
};

}  // namespace paceline
