// Ports for the gangs of this machine: outside the range that the kernel hands out by itself, free
// when they are given, and held against every other Paceline server of the machine for as long as
// the gang lives.
//
// Ports come in blocks of kPortBlock. A block is held by a name in the abstract socket space, which
// belongs to the same network namespace as the ports and disappears with the last process that has
// the descriptor.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/linux/fd.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

inline constexpr std::uint32_t kPortBlock = 8;

struct Ports {
  std::uint32_t first = 0;
  std::vector<UniqueFd> locks;  // hand a copy of each to every supervisor of the gang
};

// `count` consecutive ports for one generation of a job. The search starts at a place that job and
// generation decide, so that the nodes of a gang agree unless one of them has to move on. Errors:
// unavailable.
Result<Ports> take_ports(JobId job, Generation generation, std::uint32_t count);

// Copies of descriptors, for a supervisor to hold. Errors: storage (no descriptor is left).
Result<std::vector<UniqueFd>> duplicate(const std::vector<UniqueFd>& fds);

// The first port and the end of the range that take_ports() uses, from the text of
// /proc/sys/net/ipv4/ip_local_port_range.
struct PortRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};
PortRange usable_ports(std::string_view ephemeral);

}  // namespace paceline::agent
