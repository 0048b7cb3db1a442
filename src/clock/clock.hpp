// The only place where time is read.
#pragma once

#include "base/time.hpp"

namespace paceline {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back, even if the machine's clock is set back.
  virtual Time now() = 0;
};

}  // namespace paceline
