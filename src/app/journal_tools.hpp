// What `paceline journal` does where the journal lies (cli/cli.hpp, JournalHooks).
#pragma once

#include "cli/cli.hpp"

namespace paceline {

JournalHooks journal_hooks();

}  // namespace paceline
