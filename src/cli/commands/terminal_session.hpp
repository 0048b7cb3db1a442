// This terminal as that of a running job (`run --pty`, `attach`).
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "cli/commands/command.hpp"

namespace paceline {

// Waits until the job runs, then hands this terminal to it until the job is over or the user leaves
// with Ctrl-] three times. Returns the job's exit code, or 0 after leaving. Errors: conflict (a job
// without a terminal), invalid (no terminal here), and what the server says.
Result<int> attach(Context& context, Api& api, std::uint32_t id);

}  // namespace paceline
