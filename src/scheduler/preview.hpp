// What a plan would do to running jobs, for a user who is about to switch policies: which jobs
// stop, go on with another size or are asked for their slots, and what each would lose.
//
//   const Preview preview = preview_of(snapshot, plan);
//   if (preview.loses_work()) …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

struct Effect {
  JobId job;
  ChangeKind kind = ChangeKind::stop;  // no start, no resume
  bool asked = false;  // it goes on, and is stopped at `stops_at`, unless it saves or ends
  std::int32_t from = 0, to = 0;  // workers
  std::optional<JobId> by;        // whose start it is for
  Duration lost{};                // of its work, since its newest checkpoint
  double lost_slot_seconds = 0;
  bool anew = false;  // it never saved: what it loses is all it has done
  std::optional<Time> stops_at = {};
};

struct Preview {
  std::string policy;
  std::vector<Effect> effects;  // in the order of the plan; then jobs that are asked, by id
  std::int64_t starts = 0;      // jobs

  [[nodiscard]] double lost_slot_seconds() const;  // by the round itself
  // Now, or once the time of the jobs that are asked is up?
  [[nodiscard]] bool loses_work() const;
};

// REQUIRES: the plan is one for the snapshot.
Preview preview_of(const Snapshot& snapshot, const Plan& plan);

}  // namespace paceline
