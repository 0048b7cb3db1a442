// What the time since a job's last change adds to its sums. The fold brings them up to date when
// something happens to the job; a view of it in between adds this.
#pragma once

#include "base/time.hpp"
#include "model/job.hpp"

namespace paceline {

struct Accrual {
  Duration passed{};
  double slot_seconds = 0;         // leased meanwhile
  Duration Job::*spent = nullptr;  // where it went: waited, ran or paused; none: the job is over
  double Bill::*lost = nullptr;    // what the slot-seconds were lost by; none: they were not
};

// Since job.changed_at, until `at`.
Accrual accrued(const Job& job, Time at);

// What the job lost, that included.
Bill lost_with(const Job& job, const Accrual& accrual);

}  // namespace paceline
