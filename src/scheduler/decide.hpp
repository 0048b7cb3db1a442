// One decision, pure: owners' resizes first, then the active policy. The live round, `why` and
// shadow runs call this.
#pragma once

#include "plan/draft.hpp"
#include "policy/policy.hpp"

namespace paceline {

// Brings running jobs into the range their owner gave; a job that can't be resized yet is told why
// it waits.
void honour_ranges(const Snapshot& snapshot, Draft& draft);

void decide(const Snapshot& snapshot, const Policy& policy, Draft& draft);

// What tempering dropped goes into the plan where its verdict is another one than last time.
void record_dropped(const Snapshot& snapshot, const Draft& draft, Plan& plan);

}  // namespace paceline
