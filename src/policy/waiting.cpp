#include "policy/waiting.hpp"

namespace paceline {

std::vector<const Job*> startable(const Snapshot& snapshot, Draft& draft) {
  std::vector<const Job*> jobs;
  for (const auto& key : snapshot.state.waiting()) {
    const Job& job = snapshot.state.job(key.job);
    if (job.eligible_at <= snapshot.now) {
      jobs.push_back(&job);
      continue;
    }
    draft.revisit(job.eligible_at);
    draft.hold(job.id, {ReasonCode::backs_off, {job.retries_used, to_us(job.eligible_at)}, {}});
  }
  return jobs;
}

std::int32_t wanted(const State& state, const Job& job) {
  const auto most = static_cast<std::int32_t>(state.workers_ever(job.spec->slots_per_worker));
  return std::max(job.range.min, std::min(job.range.want, most));
}

Reason lacks_slots(const Draft& draft, const Job& job, std::int32_t workers) {
  const std::int64_t need = job.slots(workers);
  const auto free = static_cast<std::int64_t>(draft.free().total());
  return {need > free ? ReasonCode::waits_for_slots : ReasonCode::waits_for_fit, {need, free}, {}};
}

void start_in_order(const Snapshot& snapshot, Draft& draft, const std::function<bool(const Job&)>& start) {
  const Job* head = nullptr;
  for (const Job* job : startable(snapshot, draft)) {
    if (head) {
      draft.hold(job->id, {ReasonCode::waits_behind,
                           {head->id.value, head->slots(wanted(snapshot.state, *head)), static_cast<std::int64_t>(draft.free().total())},
                           {}});
      continue;
    }
    if (start(*job)) continue;
    draft.hold(job->id, lacks_slots(draft, *job, wanted(snapshot.state, *job)));
    if (!draft.explaining()) return;
    head = job;
  }
}

}  // namespace paceline
