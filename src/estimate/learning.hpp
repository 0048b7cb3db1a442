// How a measurement changes what is believed: means in which the newest values count most, so that a
// job that changes is known anew after a few. The fold of the journal says what was measured and
// when; the weights are part of its rules (kFoldRules in plan/plan.hpp).
//
//   learn_rate(point, 480);   // samples a second, between two reports
#pragma once

#include <cstdint>

#include "model/interference.hpp"
#include "model/job.hpp"
#include "model/state.hpp"

namespace paceline {

void learn(Mean& mean, double sample, std::uint64_t seq);
// Work per second at the size and place of the point.
void learn_rate(SpeedPoint& point, double rate);
// Seconds from the plan that disturbed the job until all of its workers ran again.
void learn_pause(Job& job, double seconds);
// Seconds for which its ranks trained no step while they became another generation in place.
void learn_pause_in_place(Job& job, double seconds);
// Running seconds at the wanted size of a job of that name, which completed at that instant.
void learn_length(NameHistory& history, double seconds, Time at);

}  // namespace paceline
