#include "estimate/resize_cost.hpp"

namespace paceline {
namespace {

// Of a job that was never interrupted: by a restart, and in place.
constexpr double kPausePriorSeconds = 5;
constexpr double kInPlacePausePriorSeconds = 0.5;

}  // namespace

double work_at_risk(const Job& job, Time now) {
  return to_seconds(job.unsaved(now)) * job.slots(job.current->size());
}

double work_lost_by_resizing(const Job& job, Time now) {
  return job.resizes_in_place() ? 0 : work_at_risk(job, now);
}

double restart_pause(const Job& job) {
  return job.resize_pauses > 0 ? job.resize_pause : kPausePriorSeconds;
}

double resize_pause(const Job& job) {
  if (!job.resizes_in_place()) return restart_pause(job);
  return job.in_place_pauses > 0 ? job.in_place_pause : kInPlacePausePriorSeconds;
}

double resize_cost(const Job& job, Time now) {
  return work_lost_by_resizing(job, now) + resize_pause(job) * job.slots(job.current->size());
}

}  // namespace paceline
