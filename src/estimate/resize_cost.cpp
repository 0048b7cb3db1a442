#include "estimate/resize_cost.hpp"

namespace paceline {

double work_at_risk(const Job& job, Time now) {
  return to_seconds(job.unsaved(now)) * job.slots(job.current->size());
}

double resize_cost(const Job& job, Time now) {
  const double pause = job.resize_pauses > 0 ? job.resize_pause : kPausePriorSeconds;
  return work_at_risk(job, now) + pause * job.slots(job.current->size());
}

}  // namespace paceline
