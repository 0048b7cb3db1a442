// The law that protects running jobs: a job loses at most a part of its time to being disturbed for
// others. There is one part for stops and one for resizes. Each is the job's own (JobSpec), else
// the policy's, else that of LossLimits{}. Owners' commands and time limits are outside this law.
//
// A disturbance costs the time until every worker runs again, as measured at the job's earlier
// resizes (nothing before the first). A stop of a job that would begin anew costs all it has run,
// too. A disturbance is allowed once
//   - the slot-seconds lost so far to its kind, and these, are no more than that part of those the job
//     ever held;
//   - the time until every worker runs again is no more than that part of the time since the gang
//     started;
//   - the job has run for its own min_run, else for the policy's, and as long since its last resize.
// A job that has saved is expected to save again when it gets notice. If it doesn't, what it lost
// has to be paid back before it is disturbed again, by the first rule. So the dearer a job is to
// disturb, the longer it is left alone; and from when on it may be disturbed again can be computed,
// and told to its owner.
//
//   a job of 2 slots, stopped once (it cost 30 s), ran 10 min since: 600 × 3 % = 18 s < 30 s: wait
//   6 min 40 s more
//
// Where a change is owed to a job (an entitlement, an admitted deadline, a reservation, a larger
// priority) the last rule alone decides whether. The others then choose which job gives up slots.
#pragma once

#include <optional>

#include "model/loss_limits.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

// Does the policy owe the change to a job: by entitlement, by an admitted deadline, by a
// reservation, by a larger priority?
enum class Owed { no, yes };

// The machine that isn't heard and has a worker of the job's current gang that has not ended; nullptr:
// there is none. Such a gang is given no other size or seats: it might never leave for them, and they
// would stay idle. REQUIRES: it has a current gang.
const Node* node_not_heard(const State& state, const Job& job);

// From when on a running job may be stopped, frozen (ChangeKind::pause) or given another size or
// other seats, if it is left alone until then: now or before: now; nothing: time alone doesn't pay
// for it (it never saved, or may lose nothing). REQUIRES: it has a current gang.
std::optional<Time> may_change_from(const Snapshot& snapshot, const Job& job, ChangeKind kind,
                                    const LossLimits& limits, Owed owed);

}  // namespace paceline
