// How much it would hurt a running job to give up slots. Whoever is hurt least gives first, under
// every policy: who only shrinks, who can be frozen where it is (plan/lending.hpp), who can go on from
// a checkpoint, then who loses least work. Of those that never saved: who may be stopped at once, then
// who was asked first, then who was not asked yet (plan/reclaim.hpp).
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
  Time asked{};          // of those who are guarded: when it was; never: the end of time
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
