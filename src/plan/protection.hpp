// The law that protects running jobs: a job loses at most a part of its time to being disturbed for others. The parts are
// its own (JobSpec), else the policy's, else LossLimits{}: one for stops, one for resizes. An owner's own commands, and
// time limits, are no matter of it.
//
// A disturbance costs the pause until every worker runs again, measured at the job's earlier ones
// (nothing before the first); and a stop, where nothing tells that the job can go on from where it was,
// all it has run. It is allowed once
//   - the slot-seconds lost so far to its kind, and these, are no more than that part of those the job
//     ever held;
//   - the pause is no more than that part of the time since the job was disturbed last;
//   - the job has run for its own min_run, else for kLeastRun, and as long since its last resize.
// Who has saved is taken to save again when it is told. If it doesn't, what it lost is paid back before
// it is disturbed again, by the first rule.
// So the dearer a job is to disturb the longer it is left alone, and it can be told from when on it may be disturbed again.
//
//   job of 2 slots, stopped once (pause 30 s), ran 10 min since: 600 × 3 % = 18 s < 30 s: in 6 min 40 s
//
// Where a change is owed to somebody (an entitlement, an admitted deadline, a reservation, a larger
// priority) the last rule alone counts: the others choose who gives up slots, never whether.
#pragma once

#include <optional>

#include "model/loss_limits.hpp"
#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

inline constexpr Duration kLeastRun = std::chrono::seconds{10};

// Does the policy owe the change to somebody: by entitlement, by an admitted deadline, by a reservation,
// by a larger priority?
enum class Owed { no, yes };

// From when on a running job may be stopped, frozen (ChangeKind::pause) or given another size or other
// seats, if it is left alone until then: now or before: now; nothing: time alone doesn't pay for it (it
// never saved, or may lose nothing). REQUIRES: it has a current gang.
std::optional<Time> may_change_from(const Snapshot& snapshot, const Job& job, ChangeKind kind,
                                    const LossLimits& limits, Owed owed);

}  // namespace paceline
