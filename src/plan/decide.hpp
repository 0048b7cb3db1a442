// One decision, pure. Live rounds, rehearsals, the shadow, forecasts, `why` and the scenarios all
// call it.
//
//   Draft draft(snapshot, placer, Protects::yes);
//   const auto plan = decide(draft, decider(policy));
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "plan/draft.hpp"

namespace paceline {

// Fills a draft of the snapshot: a policy, or several of which the first that can does. An error
// leaves the draft as it was.
using Decider = std::function<Result<void>(const Snapshot&, Draft&)>;

// Brings running jobs into the range that their owner gave, has jobs leave nodes that drain, lets
// `decider` decide, and checks the plan. The plan names each job that the law protected, if the
// reason changed. Errors: the decider's; invalid: what the plan would break.
// `left_out`: given, there is no error of the second kind: it gets what the plan would break, a sentence each, and the
// plan goes without the trades that do.
Result<Plan> decide(Draft& draft, const Decider& decider,
                    std::vector<std::string>* left_out = nullptr);

}  // namespace paceline
