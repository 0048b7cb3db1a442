// The only place where time is read.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "model/wall_clock.hpp"

namespace paceline {

class Clock {
 public:
  virtual ~Clock() = default;
  // The time line: passes while the machine is awake, however its clock is set; never goes back.
  virtual Time now() = 0;
  // What the machine's clock shows.
  virtual WallTime wall() { return WallTime{now().time_since_epoch()}; }
  // The machine's boot, and where on the time line it was; nullptr: the clock is no machine's.
  [[nodiscard]] virtual const Boot* boot() const { return nullptr; }
  // Goes on where an earlier process left the time line: after `last`, in its `boot`. In the same
  // boot the time between is known and has passed; over another one, the time line stood still.
  // Called once, before anybody keeps what now() said.
  virtual void resume(Time last, const std::optional<Boot>& boot) {
    (void)last;
    (void)boot;
  }
};

// What a machine offers to make a Clock of.
struct ClockSources {
  std::function<WallTime()> wall;    // may jump
  std::function<Duration()> steady;  // since the boot, awake; never jumps
  std::string boot_id;               // another one after every boot; empty: unknown
};

}  // namespace paceline
