// One command line, given as words, against a console and an environment of the caller's choice.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/command.hpp"

namespace paceline {

// `words` without the program's name. Returns the exit code; complaints are printed.
int run_cli(Context& context, std::vector<std::string> words);

}  // namespace paceline
