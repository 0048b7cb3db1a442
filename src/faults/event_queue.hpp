// Virtual time: what happens when, in order, on one thread. Things at one time happen in the order
// in which they were put.
//
//   EventQueue queue(time_from_us(0));
//   queue.after(std::chrono::seconds{3}, [&] { … });
//   while (queue.run_next()) {}
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "clock/clock.hpp"

namespace paceline::faults {

class EventQueue final : public Clock {
 public:
  explicit EventQueue(Time start) : now_(start) {}

  Time now() override { return now_; }

  // What is put into the past happens next.
  void at(Time when, std::function<void()> what);
  void after(Duration span, std::function<void()> what) { at(now_ + span, std::move(what)); }

  // Moves to the next thing and does it; false if there is none.
  bool run_next();
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  Time now_;
  std::uint64_t put_ = 0;
  std::uint64_t done_ = 0;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> waiting_;
};

}  // namespace paceline::faults
