#include "policy/lua/realise.hpp"

#include "plan/lending.hpp"
#include "policy/settle.hpp"

namespace paceline {
namespace {

bool can_follow(const Job& job, const Draft& draft) {
  if (draft.changed(job.id)) return false;
  return job.state == JobState::pending || job.state == JobState::running || job.lends();
}

// A script's number is meant as it stands: no fewer. A frozen job goes on with what it had.
std::vector<Wish> wishes_of(const std::vector<Choice>& choices, const Draft& draft) {
  std::vector<Wish> wishes;
  for (const auto& [job, workers, reason, owed] : choices) {
    if (!can_follow(*job, draft)) continue;
    const auto n = workers > 0 ? frozen_workers(*job).value_or(workers) : 0;
    wishes.push_back({job, draft.workers(job->id), n, n, n, owed, reason});
  }
  return wishes;
}

}  // namespace

void realise(const std::vector<Choice>& choices, const Snapshot& snapshot, Draft& draft) {
  if (draft.explaining()) {
    for (const auto& [job, workers, reason, owed] : choices) {
      const bool waits = workers == 0 && snapshot.state.waiting().contains(queue_key(*job));
      if (waits && !reason.empty()) draft.explain_wait(job->id, {ReasonCode::script, {}, reason});
    }
  }
  settle(snapshot, draft, {.wishes = wishes_of(choices, draft)});
}

}  // namespace paceline
