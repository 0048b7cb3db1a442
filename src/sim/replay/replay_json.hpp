// A replay as JSON (docs/simulate.md).
#pragma once

#include <string>

#include "sim/replay/replay.hpp"

namespace paceline::sim {

// `journal`: as it was named; `command`: the whole command line.
std::string to_json(const Replay& replay, const std::string& journal, const std::string& command);

}  // namespace paceline::sim
