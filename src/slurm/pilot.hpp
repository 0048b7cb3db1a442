// A pilot: a job of Slurm's that runs an agent on one node for as long as Slurm lets it. Slurm decides
// when it starts and when it is over; Paceline knows its pilots by their names, which hold the server
// and the invitation that the agent joins by, so a server that starts anew finds each of them again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

enum class PilotState {
  pending,  // Slurm has not started it
  running,
  ending,  // its processes are being ended
  over,
};
std::string_view to_string(PilotState state);

struct Pilot {
  std::uint64_t job = 0;         // Slurm's number of it
  std::uint32_t invitation = 0;  // by which its agent joins; never another pilot's
  PilotState state = PilotState::pending;
  std::string slurm_state = {};            // "PENDING", "PREEMPTED"
  std::string reason = {};                 // of Slurm: "Priority", "NonZeroExitCode"
  std::string host = {};                   // Slurm's name of the node; empty: none yet
  WallTime asked_at = {};                  // by Slurm's clock
  std::optional<Duration> time_left = {};  // until its time limit; nothing: no limit, or not known

  friend bool operator==(const Pilot&, const Pilot&) = default;
};

// "paceline-1f00ac23-17"
std::string pilot_name(std::string_view server, std::uint32_t invitation);

// What the agent of a pilot calls its node: "n1-8123", at most 63 bytes.
std::string pilot_node(std::string_view host, std::uint64_t job);

// squeue's options to list all jobs of this user, also those that are over, for read_pilots().
// Times are asked for as seconds: SLURM_TIME_FORMAT=%s.
std::vector<std::string> list_arguments();

// The pilots of one server in squeue's text; lines of other jobs are passed over. Errors: data: a
// pilot's line can't be read.
Result<std::vector<Pilot>> read_pilots(std::string_view text, std::string_view server);

// Slurm's way to write spans: "5:00", "2-03:04:05". Nothing: "UNLIMITED", "INVALID", and what is none.
std::optional<Duration> read_slurm_span(std::string_view text);

}  // namespace paceline
