#include "policy/fifo.hpp"

#include "policy/waiting.hpp"

namespace paceline {

void Fifo::decide(const Snapshot& snapshot, Draft& draft) const {
  start_in_order(snapshot, draft, [&](const Job& job) {
    const std::int32_t workers = wanted(snapshot.state, job);
    auto seats = draft.fit(job.id, workers);
    if (!seats) return false;
    draft.start(job.id, std::move(*seats), {ReasonCode::starts, {workers}, {}});
    return true;
  });
}

}  // namespace paceline
