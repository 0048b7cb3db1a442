#include "policy/fifo.hpp"

#include "policy/waiting.hpp"

namespace paceline {

void Fifo::decide(const Snapshot& snapshot, Draft& draft) const {
  start_in_order(snapshot, draft, [&](const Job& job) {
    auto seats = draft.fit(job.id, job.range.want);
    if (!seats) return false;
    draft.start(job.id, std::move(*seats), {ReasonCode::starts, {job.range.want}, {}});
    return true;
  });
}

}  // namespace paceline
