#include "cli/commands/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace paceline {
namespace {

constexpr std::string_view kEnvironment =
    "The server is found by --server PATH, then $PACELINE_DIR, /run/paceline and\n"
    "$XDG_DATA_HOME/paceline (~/.local/share/paceline).\n";

// "  <left>  <right>", lines aligned.
std::string two_columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& [left, right] : rows) width = std::max(width, left.size());
  std::string text;
  for (const auto& [left, right] : rows) text += fmt::format("  {:{}}  {}\n", left, width, right);
  return text;
}

std::string option_names(const OptionHelp& option) {
  std::string names = option.names;
  const auto comma = names.find(',');
  if (comma == std::string::npos)
    names.insert(0, "    ");
  else
    names.insert(comma + 1, " ");
  return option.value.empty() ? names : fmt::format("{} {}", names, option.value);
}

std::string example_of(const Command& command) {
  std::string text;
  std::string_view rest = command.example;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("  {}\n", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

}  // namespace

std::string usage_of(const Command& command, const Options& options) {
  std::string usage = fmt::format("paceline {} [options]", command.name);
  const auto& words = options.declared_words();
  if (words.target != nullptr) {
    const bool several = words.count == Count::some || words.count == Count::any;
    const bool needed = words.count == Count::one || words.count == Count::some;
    const auto name = words.name + (several ? "..." : "");
    usage += needed ? " " + name : " [" + name + "]";
  }
  if (options.takes_command_line()) usage += " -- COMMAND...";
  if (options.takes_parameters()) usage += " [--KEY VALUE...]";
  return usage;
}

std::string help_page(std::span<const Command> commands) {
  std::vector<std::string_view> groups;
  for (const auto& command : commands) {
    const bool known = std::ranges::find(groups, command.group) != groups.end();
    if (!known && !command.group.empty()) groups.push_back(command.group);
  }
  std::size_t width = 0;
  for (const auto& command : commands) width = std::max(width, command.name.size());
  std::string page =
      "Paceline shares this machine's GPUs (or CPU slots) among training jobs.\n\n"
      "Usage: paceline COMMAND [options]\n";
  for (const auto group : groups) {
    page += fmt::format("\n{}\n", group);
    for (const auto& command : commands) {
      if (command.group != group) continue;
      page += fmt::format("  {:{}}  {}\n", command.name, width, command.summary);
    }
  }
  return page + "\n'paceline COMMAND --help' tells more.\n" + std::string(kEnvironment);
}

std::string help_page(const Command& command, const Options& options) {
  std::string page = fmt::format("{}.\n\nUsage: {}\n", command.summary, usage_of(command, options));
  const auto& words = options.declared_words();
  if (!words.help.empty()) page += fmt::format("\n  {}  {}\n", words.name, words.help);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& option : options.help()) rows.emplace_back(option_names(option), option.text);
  page += "\nOptions\n" + two_columns(rows);
  page += "\nExample\n" + example_of(command);
  if (!command.alias.empty()) page += fmt::format("\nShort: paceline {}\n", command.alias);
  return page;
}

}  // namespace paceline
