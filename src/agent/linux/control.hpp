// The lines between an agent and a supervisor. The supervisor tells on every new connection what
// already is, so an agent that connects later misses nothing; the end of the connection means that
// the supervisor is gone.
//
//   agent:       notice 15 | kill | freeze | thaw | ping
//                limit left_us=7200000000 signal=15 grace_us=120000000
//                lease left_us=900000000
//   supervisor:  running 4711 | pong | ended cause=exited exit_code=0 signal=0
//                at_us=361121234567 message=
//
// The channel is a socket in the abstract name space under a random name that only the claim knows:
// no path that could be too long, nothing to remove. Both ends take nobody but their own user and
// root for the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/linux/claim.hpp"
#include "files/fd.hpp"

namespace paceline::agent {

struct ControlCommand {
  enum class Kind { notice, kill, freeze, thaw, ping, limit, lease };
  Kind kind = Kind::ping;
  std::int32_t signal = 0;  // of a notice
  RunLimit limit = {};      // of a limit; of a lease what is left alone
};

std::string to_line(const ControlCommand& command);  // with the newline
std::optional<ControlCommand> parse_command(std::string_view line);

std::string running_line(pid_t pid);
std::optional<pid_t> parse_running_line(std::string_view line);
std::string ended_line(const WorkerEnding& ending);
std::optional<WorkerEnding> parse_ended_line(std::string_view line);

// Both ends of the channel, non-blocking; empty on failure, with errno.
UniqueFd listen_control(const std::string& name);
UniqueFd connect_control(const std::string& name);
// True if the process at the other end of a connected socket runs as this process's user or root.
bool is_trusted_peer(int socket);

inline constexpr std::string_view kPong = "pong";
inline constexpr std::size_t kControlLineMax = 4096;

}  // namespace paceline::agent
