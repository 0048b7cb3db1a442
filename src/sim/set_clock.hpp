// A clock that somebody set: as far ahead of the true time as it was set wrong. It never goes back
// while somebody reads it, as the clocks of the program don't (clock/system).
#pragma once

#include "sim/event_queue.hpp"

namespace paceline::sim {

class SetClock final : public Clock {
 public:
  explicit SetClock(EventQueue& queue) : queue_(queue) {}

  Time now() override { return queue_.now() + ahead_; }
  // When it shows `shown`.
  [[nodiscard]] Time true_time(Time shown) const { return shown - ahead_; }

  void set_forwards(Duration by) { ahead_ += by; }
  // REQUIRES: nobody has read it since it was started anew.
  void restart(Duration ahead) { ahead_ = ahead; }

 private:
  EventQueue& queue_;
  Duration ahead_{};
};

}  // namespace paceline::sim
