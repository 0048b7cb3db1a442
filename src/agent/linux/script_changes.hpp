// A job runs its scripts as they lie there when it starts, not as they were when it was submitted. An
// owner who edited one while the job waited, or between two of its starts, is told so in the log.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace paceline::agent {

struct ScriptChange {
  std::string path;  // as the command names it
  WallTime at;
  friend bool operator==(const ScriptChange&, const ScriptChange&) = default;
};

// The script or program that was changed last of those that `command` names, if that was after `since`.
// In a shell's text (`shell`) every word of it counts. A time within two seconds may be another
// machine's clock, and is passed over. Paths are as seen from the current directory, by whom is asking.
std::optional<ScriptChange> script_change(const std::vector<std::string>& command, bool shell,
                                          WallTime since);

// "train.py was changed at 2026-11-20T10:00:00Z, after the job was submitted (…); …"
std::string sentence(const ScriptChange& change, WallTime submitted);

}  // namespace paceline::agent
