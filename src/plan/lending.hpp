// Lending: a job that can't shrink is frozen rather than stopped, where that frees its slots. Other
// jobs run there meanwhile. Its work stays in memory, and it goes on in the same slots.
//
// It frees the slots only where a slot is a share of the processor: a frozen process keeps the
// memory of its device. The memory it keeps on its node has to be known, so that others are placed
// beside it (plan/constraints.hpp). Gangs of several workers are stopped: their workers would give
// each other up, since time-outs run on while they are frozen. A slot is lent once at a time.
//
// A job that has lent its slots waits for them as long as it would take to redo the work that a
// start elsewhere loses; then it starts wherever it fits. So waiting never costs more than
// twice the cheaper choice.
#pragma once

#include <cstdint>
#include <optional>

#include "model/state.hpp"

namespace paceline {

// May the running job be frozen and its slots lent? Whether it is preemptible is another question.
bool may_lend(const State& state, const Job& job);

// The seats that it is frozen in. REQUIRES: it lends.
Placement frozen_seats(const Job& job);

// The workers that it can go on with: none if it doesn't lend, or if its owner asks for others
// since.
std::optional<std::int32_t> frozen_workers(const Job& job);

// Until when it waits for its own slots alone. REQUIRES: it lends.
Time waits_for_own_until(const Job& job);

// The job that has one of its slots; nothing: none has. REQUIRES: it lends.
std::optional<JobId> beneficiary_of(const State& state, const Job& job);

}  // namespace paceline
