// What everything in one world shares: its time, its chance, and the ledger that watches it.
#pragma once

#include <cstdint>

#include "base/rng.hpp"
#include "faults/event_queue.hpp"
#include "faults/ledger.hpp"

namespace paceline::faults {

// Of the server and of agents, from a wake-up to the step.
inline constexpr Duration kStepDelay = std::chrono::microseconds{100};

struct Scene {
  Scene(std::uint64_t seed, Time begin) : queue(begin), rng(seed), ledger(begin) {}

  EventQueue queue;
  Rng rng;
  Ledger ledger;
  bool calm = false;                 // nothing more goes wrong
  std::int64_t clock_errors_by = 1;  // so many times smaller are the errors of clocks

  Duration up_to(Duration most);
  // How far a wall clock is wrong, either way: mostly days, now and then hours or seconds.
  Duration draw_clock_error();
};

}  // namespace paceline::faults
