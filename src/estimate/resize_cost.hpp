// What it costs to give a running job another generation, in slot-seconds: the pause, measured at its
// earlier resizes and restarts, and by restart the work since its last acknowledged checkpoint, which is
// done again.
#pragma once

#include "base/time.hpp"
#include "model/job.hpp"

namespace paceline {

// REQUIRES: the job has a current gang.
double work_at_risk(const Job& job, Time now);  // since the last acknowledged checkpoint
double work_lost_by_resizing(const Job& job, Time now);
double restart_pause(const Job& job);  // seconds
double resize_pause(const Job& job);   // seconds, by restart or in place
double resize_cost(const Job& job, Time now);

}  // namespace paceline
