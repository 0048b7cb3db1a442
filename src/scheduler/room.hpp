// Could the cluster ever hold a job? Judged by every node that has not retired, up or down, as if nothing else
// ran: what is refused here would wait for ever.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "model/job_spec.hpp"
#include "model/state.hpp"

namespace paceline {

// Nodes that are not there, and would be asked for if jobs waited for them.
struct ComingNodes {
  std::uint32_t nodes = 0, slots_each = 0;
};

// With `workers` workers: are there devices of its models, nodes with the labels it requires, and
// on these enough slots, cores and memory, in large enough pieces for its workers and tensor groups,
// as near together or far apart as it requires? Cost: O(1) for a job that takes any slot, else
// O(slots). Errors: invalid; unavailable (no node yet).
// Of coming nodes nothing is known but their slots: what they are enough for by number fits.
Result<void> fits_some_day(const State& state, const JobSpec& spec, std::int32_t workers,
                           const ComingNodes& coming = {});

}  // namespace paceline
