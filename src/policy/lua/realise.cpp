#include "policy/lua/realise.hpp"

#include "policy/waiting.hpp"

namespace paceline {
namespace {

// What the script says, or else why the job can't have what the script gave it.
Reason why_it_waits(const Choice& choice, const Draft& draft) {
  if (choice.workers > 0) return lacks_slots(draft, *choice.job, choice.workers);
  if (choice.reason.empty()) return {ReasonCode::waits_for_turn, {choice.job->range.min}, {}};
  return {ReasonCode::script, {}, choice.reason};
}

}  // namespace

void realise(const std::vector<Choice>& choices, const Snapshot&, Draft& draft) {
  for (const Choice& choice : choices) {
    const Job& job = *choice.job;
    if (job.state != JobState::pending || draft.changed(job.id)) continue;
    auto seats = choice.workers > 0 ? draft.fit(job.id, choice.workers) : std::nullopt;
    if (seats)
      draft.start(job.id, std::move(*seats), {ReasonCode::script, {}, choice.reason});
    else
      draft.hold(job.id, why_it_waits(choice, draft));
  }
}

}  // namespace paceline
