// What the routes of policies share: which policy somebody chose, and the answer to a switch.
// Internal to api.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/context.hpp"

namespace paceline {

// {"name": …, "parameters": {…}}. Parameters are text; numbers and truth values are taken as they
// are written. Errors: invalid.
Result<PolicyChoice> read_policy_choice(const HttpRequest& request);

void write_parameters(JsonWriter& json, const Parameters& parameters);

// Plays the next round by `choice` first. With ?dry_run=1 that is the answer, and nothing changes;
// else `change` is called to switch, and the answer once that is durable is the active policy, the
// one before, and the round that was played (null where it failed).
void answer_switch(const SharedContext& context, const std::shared_ptr<Exchange>& exchange,
                   const Result<PolicyChoice>& choice,
                   const std::function<void(Done<void>)>& change);

}  // namespace paceline
