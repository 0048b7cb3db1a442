// Which machine this is, among those that bear its name (NodeSpec::machine).
#pragma once

#include <string>

namespace paceline::agent {

// Drawn at the first start and kept in DIRECTORY/machine, beside the claims: whoever has them is this
// machine. Empty where it is not known: the file is damaged or can't be written, or claims are there
// that are older than it.
std::string identify_machine(const std::string& directory);

}  // namespace paceline::agent
