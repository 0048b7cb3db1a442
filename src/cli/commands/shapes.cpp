#include "cli/commands/shapes.hpp"

#include "cli/commands/help.hpp"

namespace paceline {

CommandShape shape_of(const Command& command) {
  Options options(command.name);
  command.declare(options);
  std::optional<std::string> server;
  options.value("--server", "PATH", server, "socket or directory of the server");
  const auto& words = options.declared_words();
  return {&command,   usage_of(command, options),  options.help(), words.name,
          words.help, options.takes_command_line()};
}

std::vector<CommandShape> shapes_of(std::span<const Command> commands) {
  std::vector<CommandShape> shapes;
  for (const Command& command : commands)
    if (!command.group.empty()) shapes.push_back(shape_of(command));
  return shapes;
}

std::vector<std::string> names_of(const OptionHelp& option) {
  const auto comma = option.names.find(',');
  if (comma == std::string::npos) return {option.names};
  return {option.names.substr(0, comma), option.names.substr(comma + 1)};
}

}  // namespace paceline
