// The command line of Paceline: one file per command, all of them clients of the HTTP API
// (docs/api.md). docs/cli.md is the user's page.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace paceline {

// What `paceline up` was asked for.
struct UpOptions {
  std::string directory;                 // absolute; from --dir, $PACELINE_DIR or the data folder
  std::optional<int> slots;              // CPU slots to offer; nothing: what the machine has
  std::optional<std::string> policy;     // nothing: as the directory remembers, else the default
  std::optional<std::string> placement;  // nothing: the default
  std::string log_level = "info";        // trace, debug, info, warning, error
  std::string rack, network_switch;      // where this machine stands; empty: unknown
  std::map<std::string, std::string> labels;  // of this machine, for jobs to name
};

// What the command line does not do itself.
struct Hooks {
  std::string version;                                  // "0.1.0 (803c4c0, gcc 12.2)"
  std::function<int(const UpOptions&)> up;              // returns the exit code
  std::function<int(int argc, char** argv)> supervise;  // `paceline supervise …`, not for people
};

// Runs one command and returns the process's exit code. SIGPIPE is ignored from then on, except in
// `supervise`: whoever starts a training from `up` gives it back.
int cli_main(int argc, char** argv, const Hooks& hooks);

}  // namespace paceline
