// violations(snapshot, plan) is empty, or the plan is refused. The live check costs O(changes);
// check_state() is the full one that tests run after every entry.
#pragma once

#include <string>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

// What the plan would break, one sentence each: a slot leased or promised twice, an incomplete
// gang, workers outside min..max or no multiple of the mesh, a used generation, a job changed twice,
// a job that may not be changed now, one that never saved stopped before it was asked for long enough
// (plan/reclaim.hpp), a stop or shrink whose beneficiary gets nothing, a change
// without a reason; and if nothing of that, a required constraint (plan/constraints.hpp) or a tensor
// group on several nodes.
std::vector<std::string> violations(const Snapshot& snapshot, const Plan& plan);

// The plan without the trades that break something, and without those that lean on them.
Plan sound_part(const Snapshot& snapshot, Plan plan);

// What is wrong in a state: leases and gangs that disagree, two holders of one slot, a promise on a
// slot whose lease isn't ending, counters that don't add up, indexes that miss a job.
std::vector<std::string> check_state(const State& state);

}  // namespace paceline
