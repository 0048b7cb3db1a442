#include "policy/waiting.hpp"

#include "plan/lending.hpp"

namespace paceline {

bool startable(const Job& job, const Snapshot& snapshot, Draft& draft) {
  if (job.eligible_at <= snapshot.now) return true;
  draft.revisit(job.eligible_at);
  draft.explain_wait(job.id,
                     {ReasonCode::backs_off,
                      {std::max(job.retries_used, job.quick_failures), to_us(job.eligible_at)},
                      {}});
  return false;
}

std::int32_t wanted(const State& state, const Job& job) {
  if (const auto frozen = frozen_workers(job)) return *frozen;
  if (job.range.min == job.range.want) return job.range.want;
  const std::int32_t group = job.spec->mesh.tensor;  // stays on one node
  const auto groups = state.workers_ever(group * job.spec->slots_per_worker);
  const auto most = std::min<std::int64_t>(groups * group, job.range.want);
  return std::max(job.range.min, static_cast<std::int32_t>(most - most % job.spec->mesh.step()));
}

bool takes_any_slots(const Job& job) {
  const JobSpec& spec = *job.spec;
  return !job.lends() && spec.devices.empty() && spec.affinity.empty() && !spec.exclusive &&
         spec.mesh.tensor == 1 && spec.cpus == 0 && spec.memory_bytes == 0;
}

bool fits_by_count(const Job& job, const Draft& draft) {
  if (draft.kept_for().value_or(job.id) != job.id) return false;
  const State& state = draft.snapshot().state;
  const auto aloof = [&](const Change& change) {
    return keeps_others_off(*state.job(change.job).spec);
  };
  return takes_any_slots(job) && job.spec->slots_per_worker == 1 && state.aloof().empty() &&
         std::none_of(draft.changes().begin(), draft.changes().end(), aloof);
}

void start_in_order(const Snapshot& snapshot, Draft& draft,
                    const std::function<bool(const Job&)>& start) {
  std::optional<Reason> behind;
  for (const auto& key : snapshot.state.waiting()) {
    const Job& job = snapshot.state.job(key.job);
    if (draft.changed(job.id) || !startable(job, snapshot, draft)) continue;
    if (behind) {
      draft.explain_wait(job.id, *behind);
      continue;
    }
    if (start(job)) continue;
    const bool may_pass = frozen_workers(job).has_value();  // it waits for no slots but its own
    if (!draft.explaining() && !may_pass) return;
    const Reason lacks = lacks_slots(draft, job, wanted(snapshot.state, job));
    draft.explain_wait(job.id, lacks);
    if (may_pass) continue;
    behind =
        Reason{ReasonCode::waits_behind, {job.id.value, lacks.numbers[0], lacks.numbers[1]}, {}};
  }
}

}  // namespace paceline
