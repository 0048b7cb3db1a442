#include "model/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {
namespace {

bool plain(std::string_view word) {
  constexpr std::string_view kPlain = "_-./=:,@%+";
  return !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
}

std::string shell_quoted(std::string_view word) {
  if (plain(word)) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_full(std::string_view directory) {
  return directory.starts_with('/') || directory == "~" || directory.starts_with("~/");
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

bool is_ship(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return name.size() == 64 && name.find_first_not_of(kDigits) == std::string_view::npos;
}

bool is_witness(const std::string& text) {
  return text.size() <= kWitnessBytesMax && text.find('\n') == std::string::npos && !has_nul(text);
}

Result<void> validate_environment(const LaunchSpec& launch) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : launch.environment) {
    bytes += name.size() + value.size() + 2;
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return fail(ErrorCode::invalid, fmt::format("'{}' can't be an environment variable.", name),
                  "A name has no '=' and no NUL.");
    }
  }
  if (bytes > kEnvironmentBytesMax) {
    return fail(ErrorCode::too_large, "The environment is larger than 1 MiB.",
                "Submit with --clean-env.");
  }
  return {};
}

}  // namespace

Result<void> validate(const LaunchSpec& launch) {
  if (launch.command.empty() || launch.command.front().empty()) {
    return fail(ErrorCode::invalid, "There is no command to run.",
                "Give it after '--', for example: -- python train.py");
  }
  std::size_t bytes = launch.setup.size();
  bool nul = has_nul(launch.setup);
  for (const auto& word : launch.command) {
    bytes += word.size() + 1;
    nul = nul || has_nul(word);
  }
  if (nul) return fail(ErrorCode::invalid, "A command holds no NUL.", "Check the arguments.");
  if (bytes > kCommandBytesMax) {
    return fail(ErrorCode::too_large, "The command is larger than 1 MiB.",
                "Put it into a script file.");
  }
  if (!is_full(launch.directory) || has_nul(launch.directory)) {
    return fail(ErrorCode::invalid,
                fmt::format("The directory '{}' is not absolute.", launch.directory),
                "Give the full path with --workdir.");
  }
  if (!launch.shipped.ship.empty() && !is_ship(launch.shipped.ship))
    return fail(ErrorCode::invalid, "A ship's name has 64 small hexadecimal digits.",
                "It is what POST /v1/ships answers.");
  if (launch.witnesses.size() > kWitnessesMax || !std::ranges::all_of(launch.witnesses, is_witness))
    return fail(ErrorCode::invalid, "That is no witness of a directory.",
                "Leave out 'witnesses': then no machine asks whether it has the same one.");
  return validate_environment(launch);
}

std::string command_line(const LaunchSpec& launch) {
  if (launch.shell && !launch.command.empty()) return launch.command.back();
  std::string line;
  for (const auto& word : launch.command) {
    if (!line.empty()) line += ' ';
    line += shell_quoted(word);
  }
  return line;
}

}  // namespace paceline
