// Policies that people bring into a FaultWorld: one that does, and some that fail in their own ways.
#pragma once

#include <string>
#include <vector>

namespace paceline::sim {

std::vector<std::string> fault_scripts();

}  // namespace paceline::sim
