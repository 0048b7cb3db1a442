// `paceline agent`: the agent of a machine whose server is another one.
#pragma once

#include "app/build.hpp"
#include "cli/cli.hpp"

namespace paceline {

// Serves until SIGINT or SIGTERM; trainings go on under their supervisors. Returns the exit code
// (docs/api.md).
int run_agent(const AgentOptions& options, const Build& build);

}  // namespace paceline
