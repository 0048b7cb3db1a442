#include "estimate/resize_cost.hpp"

#include <algorithm>

namespace paceline {

double work_at_risk(const Job& job, Time now) {
  const Gang& gang = *job.current;
  Time durable = gang.started_at.value_or(now);
  if (job.checkpoint) durable = std::max(durable, job.checkpoint->acknowledged_at);
  return std::max(0.0, to_seconds(now - durable)) * job.slots(gang.size());
}

double resize_cost(const Job& job, Time now) {
  const double pause = job.resize_pauses > 0 ? job.resize_pause : kPausePriorSeconds;
  return work_at_risk(job, now) + pause * job.slots(job.current->size());
}

}  // namespace paceline
