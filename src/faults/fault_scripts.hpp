// Policies that people bring into a world: some that do, and some that fail in their own way.
#pragma once

#include <string>
#include <vector>

namespace paceline::faults {

std::vector<std::string> fault_scripts();

}  // namespace paceline::faults
