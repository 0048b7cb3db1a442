// All commands of the command line. The table in commands.cpp is the one place that knows them: a new
// command is a function there and a file in cli/commands.
#pragma once

#include <span>

#include "cli/commands/command.hpp"

namespace paceline {

// In the order of the help.
std::span<const Command> commands();

}  // namespace paceline
