// The options of `paceline simulate`, each written once.
#pragma once

#include <span>
#include <string>

#include "cli/commands/hooks.hpp"

namespace paceline {

// What an option serves: a study of a trace, a replay of a journal as well, or whatever is simulated.
enum class Of { study, journal, any };

// An option, once: how it is written, what it is for, and what it sets. Errors of `set` say nothing
// of the option's name.
struct SimulateOption {
  const char* name;
  const char* value;  // empty for flags
  const char* help;   // with the default
  Of of;
  Result<void> (*set)(const std::string& text, SimulateOptions& options);
};

std::span<const SimulateOption> simulate_options();

}  // namespace paceline
