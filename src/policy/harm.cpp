#include "policy/harm.hpp"

#include "estimate/resize_cost.hpp"
#include "plan/lending.hpp"
#include "plan/reclaim.hpp"

namespace paceline {

Harm harm_of_shrinking(const Snapshot& snapshot, const Job& job) {
  const bool anew = job.begins_anew() && !job.resizes_in_place();
  return {Gives::shrinks, anew, false, {}, work_lost_by_resizing(job, snapshot.now)};
}

Harm harm_of_stopping(const Snapshot& snapshot, const Job& job) {
  if (!job.current) return {Gives::stops, job.begins_anew(), job.begins_anew(), Time::max(), 0};
  Harm harm{Gives::stops, job.begins_anew(), must_be_asked(snapshot, job), {}, 0};
  harm.work = work_at_risk(job, snapshot.now);
  if (harm.guarded) harm.asked = job.current->asked ? job.current->asked->since : Time::max();
  return harm;
}

Harm harm_of_giving_all(const Snapshot& snapshot, const Job& job) {
  const bool freezes = job.state == JobState::running && may_lend(snapshot.state, job);
  return freezes ? Harm{Gives::pauses} : harm_of_stopping(snapshot, job);
}

}  // namespace paceline
