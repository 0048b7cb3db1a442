// Why a job finds no seats although enough slots are free: what it asks of a place, and how many
// slots are free where that doesn't hold. For explanations alone.
//
// Cost: O(nodes with free slots).
#pragma once

#include "plan/draft.hpp"

namespace paceline {

// "needs 4 slots, 1 free now", that they are free in the wrong places, or what keeps the job off
// them.
Reason lacks_slots(const Draft& draft, const Job& job, std::int32_t workers);

}  // namespace paceline
