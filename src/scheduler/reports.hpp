// Many reports of a round as few: decisions and the journal need the last word of each job, not
// every step on the way.
#pragma once

#include <span>
#include <vector>

#include "model/event.hpp"
#include "model/state.hpp"

namespace paceline {

// The reports among `events`: those of one job and generation merged into one, by job. What had
// come up to a report that meets a tier of the job's target for the first time is told before, lest
// a later value in the same batch hide it.
std::vector<Progressed> merge_reports(const State& state, std::span<const Event> events);

}  // namespace paceline
