#include "model/accrual.hpp"

#include <algorithm>

namespace paceline {
namespace {

Duration Job::*spent_by(const Job& job) {
  switch (job.state) {
    case JobState::pending:
    case JobState::starting:
      return &Job::waited;
    case JobState::paused:
      return job.lends() ? &Job::waited : &Job::paused;
    default:
      return &Job::ran;
  }
}

double Bill::*lost_by(const Job& job) {
  if (job.state == JobState::resizing) return &Bill::resize;
  if (job.state != JobState::stopping) return nullptr;
  switch (job.current->stop->cause) {
    case Cause::preempted:
      return &Bill::preemption;
    case Cause::gang_failed:
      return &Bill::failure;
    default:
      return nullptr;
  }
}

}  // namespace

Accrual accrued(const Job& job, Time at) {
  if (is_over(job.state)) return {};
  const Duration passed = std::max(Duration::zero(), at - job.changed_at);
  return {passed, to_seconds(passed) * job.leased, spent_by(job), lost_by(job)};
}

Bill lost_with(const Job& job, const Accrual& accrual) {
  Bill lost = job.bill;
  if (accrual.lost != nullptr) lost.*accrual.lost += accrual.slot_seconds;
  return lost;
}

}  // namespace paceline
