// What starts a job's workers: private to the submitter. It is stored mode 0600 beside the journal,
// handed to agents and shown to the owner alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace paceline {

// The job's directory as it was when it was submitted, where that travels with the job.
struct ShippedDirectory {
  std::string
      ship;  // its name, by what it holds: 64 hexadecimal digits; empty: nothing was shipped
  std::uint64_t files = 0, bytes = 0;

  friend bool operator==(const ShippedDirectory&, const ShippedDirectory&) = default;
};

struct LaunchSpec {
  std::vector<std::string> command;  // argv; for `run:` of a job file {"/bin/sh", "-c", text}
  bool shell =
      false;  // true: argv is our shell around a `run:` text, so a notice goes to its children
  std::string
      setup;  // shell text run once per gang start on each node before the workers; may be empty
  std::map<std::string, std::string> environment;
  std::string directory;  // absolute; as it is asked for also "~", "~/…": from its owner's home
  std::uint32_t umask = 022;
  bool shared_shm = false;  // sees the machine's /dev/shm instead of one of its gang's own
  // What the workers run as besides the owner: the submitting process's groups, its own first.
  // Empty: those of the owner's account.
  std::vector<std::uint32_t> groups = {};
  // Each node that the job starts on makes its own directory of it; `directory` is where it came from.
  ShippedDirectory shipped = {};
  // By which another machine knows that its directory of that path is this one (files/witnesses.hpp); none: it
  // isn't asked.
  std::vector<std::string> witnesses = {};

  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

inline constexpr std::size_t kCommandBytesMax = 1 << 20;
inline constexpr std::size_t kWitnessesMax = 16;
inline constexpr std::size_t kWitnessBytesMax = 512;  // of each
inline constexpr std::size_t kEnvironmentBytesMax = 1 << 20;

// Errors: invalid (no command, relative directory, a name with '=' or NUL), too_large.
Result<void> validate(const LaunchSpec& launch);

// The command as a person would type it, quoted for a shell where needed.
std::string command_line(const LaunchSpec& launch);

}  // namespace paceline
