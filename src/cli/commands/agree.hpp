// Asks a person before something is lost.
#pragma once

#include <string>

#include "cli/commands/context.hpp"

namespace paceline {

// Tells what would be lost and waits for a yes. REQUIRES: the command has a --yes. Errors: conflict:
// nobody said yes, or nobody is there to ask.
Result<void> agree(const Context& context, const std::string& loss);

}  // namespace paceline
