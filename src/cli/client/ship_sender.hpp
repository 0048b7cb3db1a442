// Sends a job's directory ahead of the job: asks the server which of its files are missing there, and sends
// those. Whatever is lost on the way is asked for again.
#pragma once

#include "base/result.hpp"
#include "cli/client/api.hpp"
#include "cli/words/console.hpp"
#include "model/launch.hpp"
#include "ship/pack.hpp"

namespace paceline {

// Says on standard error what it ships. Errors: what can't be packed, what the server says.
Result<ShippedDirectory> send_ship(Api& api, Console& console, const Packing& packing);

}  // namespace paceline
