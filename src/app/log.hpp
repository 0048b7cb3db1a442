// Where log lines go: standard error, whatever the command. Standard output is for answers alone.
#pragma once

#include <string_view>

namespace paceline {

// Lines of this level and above: "err", "warn", "info", "debug". REQUIRES: called before any other
// thread logs.
void log_to_stderr(std::string_view level);

}  // namespace paceline
