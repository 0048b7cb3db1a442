// What it costs to give a running job another generation by restart, in slot-seconds: the work
// since its last acknowledged checkpoint, which is done again, and the pause, measured at its
// earlier resizes and restarts.
#pragma once

#include "base/time.hpp"
#include "model/job.hpp"

namespace paceline {

inline constexpr double kPausePriorSeconds = 5;  // of a job that was never interrupted

// REQUIRES: the job has a current gang.
double work_at_risk(const Job& job, Time now);  // since the last acknowledged checkpoint
double resize_cost(const Job& job, Time now);

}  // namespace paceline
