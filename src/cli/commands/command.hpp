// A command of the command line: what it accepts and what it does.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.hpp"
#include "cli/commands/context.hpp"
#include "cli/commands/options.hpp"

namespace paceline {

// Returns the exit code; an error is complained about, and its code decides the exit code.
using Action = std::function<Result<int>(Context&)>;

struct Command {
  std::string_view name;   // "submit", "policy set"
  std::string_view alias;  // "" if it has none
  std::string_view group;  // heading in the list of commands; "" hides it
  std::string_view summary;
  std::string_view example;  // lines, ready to paste
  // Declares the options and returns what to do once they are read.
  std::function<Action(Options&)> declare;
};

}  // namespace paceline
