// Asks a person before something is lost.
#pragma once

#include <string>
#include <string_view>

#include "cli/words/console.hpp"

namespace paceline {

// Tells what would be lost and waits for a yes. `again`: the command line that --yes is put behind.
// Errors: conflict: nobody said yes, or nobody is there to ask.
Result<void> agree(Console& console, const std::string& loss, std::string_view again);

}  // namespace paceline
