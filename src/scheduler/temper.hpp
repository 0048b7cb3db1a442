// Tempering: no change that costs more than it gains, none too soon after the last. It judges a
// policy's trades, never an owner's command. Gain and cost are slot-seconds.
//
// A trade is dropped when
//   - a job in it would be resized or stopped before it ran for its own minimum, else for
//     `minimum_run` and for so many of the pauses that earlier interruptions cost it, or again within
//     `window` of its last resize;
//   - it is not owed, and its gain is not larger than its cost;
//   - it is not owed, and jobs that never saved would lose as much for a start as that works within
//     `horizon`.
// Gain: slots put to use × the time they will serve (the job's remaining time, at most `horizon`).
// Slots of who starts, grows or shrinks count by what they add to its speed (estimate/scaling.hpp).
// Where others give up slots for a start: slots of who starts × the wait it is spared (what who
// gives has left), less the slots given × the time they are gone (what who starts has left), both
// at most `wait_horizon` where the lengths of all of them are known, else `horizon`.
// Cost: for every job that has to restart, the work since its last acknowledged checkpoint and its
// measured pause (estimate/resize_cost.hpp); of who has to be asked before it is stopped
// (plan/reclaim.hpp) as of when it may be.
#pragma once

#include "plan/draft.hpp"

namespace paceline {

struct TemperOptions {
  Duration minimum_run = std::chrono::seconds{10};
  double pauses_before_resize = 10, pauses_before_stop = 40;
  Duration window = std::chrono::seconds{20};
  Duration horizon = std::chrono::minutes{10};
  Duration wait_horizon = std::chrono::hours{24};
};

Judge make_temper(const TemperOptions& options);

}  // namespace paceline
