// Free slots as they would be; taken back at the end of the scope. For the .cpp files of placement/
// alone.
#pragma once

#include "plan/draft.hpp"

namespace paceline {

class SupposedSeats {
 public:
  explicit SupposedSeats(const Draft& draft)
      : free_(draft.snapshot().state.free_slots()), mark_(free_.mark()) {}
  ~SupposedSeats() { free_.rewind(mark_); }
  SupposedSeats(const SupposedSeats&) = delete;
  SupposedSeats& operator=(const SupposedSeats&) = delete;

  void take(const Placement& seats) { set(seats, false); }
  void give(const Placement& seats) { set(seats, true); }

 private:
  void set(const Placement& seats, bool free) {
    FreeSlots::Changes changes(free_);
    for (const Seat& seat : seats) {
      for (const auto index : seat.slots) changes.set({seat.node, index}, free);
    }
  }

  FreeSlots& free_;
  FreeSlots::Mark mark_;
};

}  // namespace paceline
