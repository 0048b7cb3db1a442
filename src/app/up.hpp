// `paceline up`: server and agent of this machine in one process.
#pragma once

#include <string>

#include "app/build.hpp"
#include "cli/cli.hpp"

namespace paceline {

// Serves until SIGINT, SIGTERM or `paceline down`; trainings go on under their supervisors. Returns
// the exit code (docs/api.md).
int up(const UpOptions& options, const Build& build);

}  // namespace paceline
