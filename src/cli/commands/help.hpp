// The pages of --help.
#pragma once

#include <span>
#include <string>

#include "cli/commands/command.hpp"

namespace paceline {

// All commands, by group.
std::string help_page(std::span<const Command> commands);

// "paceline cancel [options] ID...". REQUIRES: `options` has everything declared.
std::string usage_of(const Command& command, const Options& options);

// One command. REQUIRES: the same.
std::string help_page(const Command& command, const Options& options);

}  // namespace paceline
