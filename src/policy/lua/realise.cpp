#include "policy/lua/realise.hpp"

#include "policy/waiting.hpp"

namespace paceline {

void realise(const std::vector<Choice>& choices, const Snapshot&, Draft& draft) {
  for (const Choice& choice : choices) {
    const Job& job = *choice.job;
    if (choice.workers == 0 || draft.changed(job.id) || job.state != JobState::pending) continue;
    if (auto seats = draft.fit(job.id, choice.workers)) {
      draft.start(job.id, std::move(*seats), {ReasonCode::script, {}, choice.reason});
    } else {
      draft.hold(job.id, lacks_slots(draft, job, choice.workers));
    }
  }
}

}  // namespace paceline
