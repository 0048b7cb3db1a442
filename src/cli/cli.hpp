// The command line of Paceline: its commands are clients of the HTTP API (docs/api.md). docs/cli.md
// is the user's page.
#pragma once

#include "cli/commands/hooks.hpp"

namespace paceline {

// Runs one command and returns the process's exit code. SIGPIPE is ignored from then on, except in
// `supervise`: whoever starts a training from `up` gives it back.
int cli_main(int argc, char** argv, const Hooks& hooks);

}  // namespace paceline
