// Whether this machine's clock can be told the time by. One jump is somebody who sets it, and harms
// nothing; several within minutes are a broken clock, or two programs that fight over it, and what is
// trained there bears times that mean nothing.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/time.hpp"

namespace paceline::agent {

class ClockJumps {
 public:
  // `since_boot` counts while the machine sleeps, too.
  void look(Duration since_boot, WallTime wall);
  // A sentence, or nothing.
  [[nodiscard]] std::optional<std::string> problem() const;

 private:
  struct Jump {
    Duration at;  // since boot
    Duration by;
  };
  std::optional<Duration> booted_;  // what the clock showed then, as of the last look
  std::deque<Jump> jumps_;          // of the last minutes
};

}  // namespace paceline::agent
