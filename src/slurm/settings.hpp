// What somebody said of the nodes that Slurm may bring: how many, of which kind, for how long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/node.hpp"

namespace paceline {

struct PilotSettings {
  std::string partition = {}, account = {};  // of Slurm; empty: its default
  std::uint32_t nodes_max = 1;               // pilots at a time
  Duration time = std::chrono::hours{8};     // the time limit of a pilot
  std::string gres = {};                     // "gpu:4"; empty: none
  std::uint32_t cpus = 1;                    // of a pilot
  Duration idle = std::chrono::minutes{10};  // a node where nothing ran for so long is given back
  Duration lease = kUsualLease;              // NodeSpec::lease
  Duration look_every = std::chrono::seconds{15};  // how often Slurm is asked
  std::string output = "/dev/null";                // where a pilot's own messages go, as for sbatch

  friend bool operator==(const PilotSettings&, const PilotSettings&) = default;
};

// Would a pilot be the same by both?
bool asks_alike(const PilotSettings& one, const PilotSettings& other);

inline constexpr std::uint32_t kPilotsMax = 256;
inline constexpr std::uint32_t kPilotCpusMax = 4096;
inline constexpr Duration kPilotTimeMin = std::chrono::minutes{2};
inline constexpr Duration kPilotTimeMax = std::chrono::hours{24 * 365};
inline constexpr Duration kLookEveryMin = std::chrono::seconds{1};
inline constexpr Duration kLookEveryMax = std::chrono::hours{1};
inline constexpr std::size_t kSlurmWordMax = 128;

// Errors: invalid: a bound is passed, or a word is none of Slurm's.
Result<void> validate(const PilotSettings& settings);

// How many slots a pilot is likely to bring: its GPUs, else its CPUs.
std::uint32_t slots_of(const PilotSettings& settings);

// What the agent of a pilot needs to know of its server. REQUIRES: neither holds a quote.
struct PilotCall {
  std::string program;  // path of paceline, the same on every node
  std::string address;  // "login1:7443"
  std::string token;    // a join token
};

// The exit codes of a pilot that can't even begin.
inline constexpr int kNoProgram = 121, kNoRoom = 122, kNoServer = 123;

// sbatch's options, without those that name the job.
std::string batch_options(const PilotSettings& settings);

// A shell command that ends with 0 where the program is there and the address can be reached, else with
// kNoProgram or kNoServer.
std::string proof(const PilotCall& call);

// The whole batch script. The token stands in it as text: Slurm keeps scripts for their owner alone, no
// process has it as an argument or in its environment, and the agent reads it from a file of mode 0600.
std::string batch_script(const PilotSettings& settings, const PilotCall& call);

}  // namespace paceline
