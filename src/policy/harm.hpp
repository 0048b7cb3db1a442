// How much it would hurt a running job to give up slots. Under every policy the job that is hurt
// least gives first. That order is:
//   1. jobs that only shrink;
//   2. jobs that can be frozen where they are (plan/lending.hpp);
//   3. jobs that can go on from a checkpoint, the one that loses least work first;
//   4. jobs that never saved: those that may be stopped at once, then those that were asked
//      (plan/reclaim.hpp), the one that was asked first before the others, then the rest.
//
//   harm_of_giving_all(snapshot, a) < harm_of_giving_all(snapshot, b)    a gives first
#pragma once

#include <compare>
#include <cstdint>

#include "model/state.hpp"

namespace paceline {

enum class Gives { shrinks, pauses, stops };

struct Harm {
  Gives how = Gives::stops;
  bool anew = false;     // it never saved
  bool guarded = false;  // it has to be asked before, and may not be stopped yet
  Time asked{};          // of a guarded job: since when it is asked; never: the end of time
  double work = 0;       // at risk, slot-seconds

  friend auto operator<=>(const Harm&, const Harm&) = default;
};

// Of a job that goes on with fewer workers. REQUIRES: it has a current gang.
Harm harm_of_shrinking(const Snapshot& snapshot, const Job& job);
// Of a job that is frozen or stopped. One without a current gang is on its way.
Harm harm_of_giving_all(const Snapshot& snapshot, const Job& job);
// The same where it may not be frozen.
Harm harm_of_stopping(const Snapshot& snapshot, const Job& job);

}  // namespace paceline
