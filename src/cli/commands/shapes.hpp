// What every command accepts, as its own declaration says: what pages and completions are made of.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/commands/command.hpp"

namespace paceline {

struct CommandShape {
  const Command* command = nullptr;
  std::string usage;  // "paceline cancel [options] ID..."
  std::vector<OptionHelp> options;
  std::string words;       // "ID"; empty: none
  std::string words_help;  // "ids of jobs"
  bool takes_command_line = false;
};

CommandShape shape_of(const Command& command);
// Those that the list of commands shows.
std::vector<CommandShape> shapes_of(std::span<const Command> commands);

// Of "-f,--file": "-f", "--file".
std::vector<std::string> names_of(const OptionHelp& option);

// The reference manual's page of all commands, paceline(1), in man(7) macros.
std::string man_page(std::span<const CommandShape> shapes);

// What a shell reads to complete commands, options, files, ids of jobs and names of policies.
std::string bash_completion(std::span<const CommandShape> shapes);
std::string zsh_completion(std::span<const CommandShape> shapes);
std::string fish_completion(std::span<const CommandShape> shapes);

}  // namespace paceline
