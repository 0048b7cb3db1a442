// What the routes of policies share: which policy somebody chose, and the answer to a switch.
// Internal to api.
#pragma once

#include <memory>
#include <string>

#include "api/context.hpp"

namespace paceline {

// {"name": …, "parameters": {…}}. Parameters are text; numbers and truth values are taken as they
// are written. Errors: invalid.
Result<PolicyChoice> read_policy_choice(const ApiRequest& request);

void write_parameters(JsonWriter& json, const Parameters& parameters);

// Refuses whoever may not choose policies.
bool chooses_policies(const ApiContext& context, Exchange& exchange);

// Answers with the active policy and the one before once the switch is durable. Called before it.
Done<void> answer_switch(const SharedContext& context, const std::shared_ptr<Exchange>& exchange);

}  // namespace paceline
