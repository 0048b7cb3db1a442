// The clocks of one machine. Its wall clock is set wrong, by whatever and whenever somebody likes; its
// monotonic one counts from its boot. The program reads what it makes of both (clock/system), anew in
// every process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "faults/event_queue.hpp"

namespace paceline::faults {

using MakeClock = std::function<std::unique_ptr<Clock>(ClockSources)>;

class SetClock final : public Clock {
 public:
  // `error`: as set_wrong() says.
  SetClock(EventQueue& queue, const MakeClock& make, std::string machine, Duration error = {})
      : queue_(queue),
        make_(make),
        machine_(std::move(machine)),
        booted_(queue.now()),
        error_(error) {
    start_process();
  }

  Time now() override { return read_->now(); }
  WallTime wall() override { return read_->wall(); }
  [[nodiscard]] const Boot* boot() const override { return read_->boot(); }
  void resume(Time last, const std::optional<Boot>& boot) override { read_->resume(last, boot); }
  // When it shows `shown`.
  [[nodiscard]] Time true_time(Time shown) { return queue_.now() + (shown - now()); }

  // From now on the wall clock is that far from the true time.
  void set_wrong(Duration error) { error_ = error; }
  void start_process() {
    read_ =
        make_({[this] { return WallTime{(queue_.now() + error_).time_since_epoch()}; },
               [this] { return queue_.now() - booted_; }, machine_ + "-" + std::to_string(boots_)});
  }
  void reboot() {
    ++boots_;
    booted_ = queue_.now();
    start_process();
  }

 private:
  EventQueue& queue_;
  const MakeClock& make_;
  std::string machine_;
  Time booted_;
  int boots_ = 1;
  Duration error_;
  std::unique_ptr<Clock> read_;
};

}  // namespace paceline::faults
