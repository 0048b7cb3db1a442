// The machine's time, made monotone: it never goes back, even if somebody sets the machine's clock
// back. While it is ahead of the machine's clock it runs a tenth slower until that has caught up,
// so a clock set back by an hour is made good within ten hours and no duration is more than a tenth
// short meanwhile. A clock set forward is followed at once.
//
//   SystemClock clock(state.at());   // also not before what the journal has seen
//   Time now = clock.now();
//
// Any thread may call it.
#pragma once

#include <functional>
#include <mutex>

#include "clock/clock.hpp"

namespace paceline {

class SystemClock final : public Clock {
 public:
  // What the machine offers; tests hand in their own.
  struct Sources {
    std::function<Time()> wall;        // may jump
    std::function<Duration()> steady;  // never jumps, starts anywhere
  };

  explicit SystemClock(Time not_before = {});
  SystemClock(Sources sources, Time not_before);

  Time now() override;

 private:
  Sources sources_;
  std::mutex mutex_;
  Time last_;
  Duration steady_;  // when last_ was read
};

}  // namespace paceline
