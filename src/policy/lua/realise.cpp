#include "policy/lua/realise.hpp"

#include "policy/settle.hpp"

namespace paceline {
namespace {

bool can_follow(const Job& job, const Draft& draft) {
  if (draft.changed(job.id)) return false;
  return job.state == JobState::pending || job.state == JobState::running;
}

// A script's number is meant as it stands: no fewer.
std::vector<Wish> wishes_of(const std::vector<Choice>& choices, const Draft& draft) {
  std::vector<Wish> wishes;
  for (const auto& [job, workers, reason] : choices) {
    if (can_follow(*job, draft))
      wishes.push_back({job, draft.workers(job->id), workers, workers, workers, reason});
  }
  return wishes;
}

}  // namespace

void realise(const std::vector<Choice>& choices, const Snapshot& snapshot, Draft& draft) {
  if (draft.explaining()) {
    for (const auto& [job, workers, reason] : choices) {
      const bool waits = workers == 0 && job->state == JobState::pending;
      if (waits && !reason.empty()) draft.hold(job->id, {ReasonCode::script, {}, reason});
    }
  }
  settle(snapshot, draft, wishes_of(choices, draft), {Owed::yes, ""});
}

}  // namespace paceline
