// Turns wake-ups into steps: however often it is woken, its parts step once each on the next turn
// of the loop, and again when the first of them is due.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <vector>

#include "clock/clock.hpp"
#include "loop/timer.hpp"

namespace paceline {

class Pump {
 public:
  // `step` does what is due and says when it is due next.
  using Step = std::function<std::optional<Time>(Time now)>;

  // REQUIRES: `io` and `clock` outlive the pump; one thread runs `io`.
  Pump(boost::asio::io_context& io, Clock& clock) : io_(io), clock_(clock), timer_(io) {}

  void add(Step step) { steps_.push_back(std::move(step)); }
  // Cheap; may be called from anywhere on the loop's thread, from inside a step too.
  void wake();

 private:
  void turn();
  void sleep_until(std::optional<Time> due, Time now);

  boost::asio::io_context& io_;
  Clock& clock_;
  Timer timer_;
  std::vector<Step> steps_;
  bool awake_ = false;
};

}  // namespace paceline
