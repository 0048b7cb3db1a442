// Waiting for a job to be over, whatever happens to the server meanwhile.
#pragma once

#include "cli/commands/command.hpp"

namespace paceline {

// The job once it is over. Errors: what the server says, unless it is only away; unavailable after
// a signal that an Interrupt caught.
Result<Document> wait_until_over(Api& api, Console& console, std::uint32_t id);

}  // namespace paceline
