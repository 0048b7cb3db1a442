// `paceline simulate`: policies on a trace, with the scheduler that runs live.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/cli.hpp"

namespace paceline {

// The study as JSON (docs/simulate.md). Errors: invalid, not_found, storage, forbidden.
Result<std::string> simulate(const SimulateOptions& options, const ProgressBar& bar);

}  // namespace paceline
