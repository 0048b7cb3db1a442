// A server's directory that was somewhere else before.
#pragma once

#include "base/result.hpp"
#include "cli/cli.hpp"

namespace paceline {

// Takes over what `--move-from` names. Without it the machine's server does not begin anew beside a
// journal that it wrote in root's data folder: what it kept there would be out of sight. Errors:
// conflict (with what to write), not_found, storage.
Result<void> move_in(const UpOptions& options);

}  // namespace paceline
