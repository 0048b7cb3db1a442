#include "scheduler/preview.hpp"

#include <algorithm>
#include <map>

#include "estimate/resize_cost.hpp"
#include "plan/reclaim.hpp"

namespace paceline {
namespace {

// What stopping its gang now would lose.
Effect effect_on(const Snapshot& snapshot, const Job& job, ChangeKind kind) {
  Effect effect{job.id, kind, false, job.workers(), 0, {}};
  const bool in_place = kind != ChangeKind::stop && job.resizes_in_place();
  if (kind == ChangeKind::pause || !job.current || in_place) return effect;
  effect.lost = job.unsaved(snapshot.now);
  effect.lost_slot_seconds = work_at_risk(job, snapshot.now);
  effect.anew = job.begins_anew();
  return effect;
}

Effect effect_of(const Snapshot& snapshot, const Change& change) {
  Effect effect = effect_on(snapshot, snapshot.state.job(change.job), change.kind);
  effect.to = static_cast<std::int32_t>(change.placement.size());
  effect.by = change.beneficiary;
  return effect;
}

Effect effect_of(const Snapshot& snapshot, JobId id, JobId by) {
  const Job& job = snapshot.state.job(id);
  Effect effect = effect_on(snapshot, job, ChangeKind::stop);
  effect.asked = true;
  effect.by = by;
  effect.stops_at = may_stop_from(snapshot, job);
  return effect;
}

}  // namespace

double Preview::lost_slot_seconds() const {
  double sum = 0;
  for (const Effect& effect : effects) sum += effect.asked ? 0 : effect.lost_slot_seconds;
  return sum;
}

bool Preview::loses_work() const {
  return std::any_of(effects.begin(), effects.end(),
                     [](const Effect& effect) { return effect.lost > Duration::zero(); });
}

Preview preview_of(const Snapshot& snapshot, const Plan& plan) {
  Preview preview{plan.policy, {}, 0};
  for (const Change& change : plan.changes) {
    if (begins(change.kind))
      ++preview.starts;
    else
      preview.effects.push_back(effect_of(snapshot, change));
  }
  std::map<JobId, std::optional<JobId>> asked;  // once the plan has happened
  for (const JobId id : snapshot.state.asked())
    asked[id] = snapshot.state.job(id).current->asked->by;
  for (const Asking& asking : plan.asked) asked[asking.job] = asking.by;
  for (const Change& change : plan.changes) asked.erase(change.job);
  for (const auto& [id, by] : asked)
    if (by) preview.effects.push_back(effect_of(snapshot, id, *by));
  return preview;
}

}  // namespace paceline
