// `paceline simulate --faults`: the whole control plane with everything that can go wrong.
#pragma once

#include <string>

#include "base/result.hpp"
#include "cli/cli.hpp"
#include "faults/fault_study.hpp"

namespace paceline {

// The worlds of this program: its engine, its policies, scripts that people bring.
const faults::FaultKit& fault_kit();

// What was seen as JSON (docs/simulate.md, Faults). A mistake of the program that ends it names the
// seed first.
Result<std::string> simulate_faults(const FaultsOptions& options, const ProgressBar& bar);

}  // namespace paceline
