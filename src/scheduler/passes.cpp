#include "scheduler/passes.hpp"

#include <algorithm>

namespace paceline {

Passes passes_of(const State& state, const Job& job) {
  Passes passes;
  const auto since = std::max(job.waiting_since, job.eligible_at);
  const QueueKey place = queue_key(job);
  std::size_t looked_at = 0;
  for (auto other = state.jobs().rbegin(); other != state.jobs().rend(); ++other) {
    if (++looked_at > kPassesLookedAt) break;
    const bool began = other->started_at && *other->started_at >= since;
    if (!began || !(place < queue_key(*other))) continue;
    if (++passes.count <= kPassesNamed) passes.last.push_back(other->id);
  }
  std::reverse(passes.last.begin(), passes.last.end());
  return passes;
}

}  // namespace paceline
