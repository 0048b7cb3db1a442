// Ports for the gangs of this machine: outside the range that the kernel hands out by itself, free
// when they are given, and held against every other Paceline server of the machine for as long as
// the gang lives.
//
// Ports come in blocks of kPortBlock. A block is locked by a file that only this user can open, so
// nobody else keeps a server from starting jobs but by taking the ports themselves. The lock goes
// with the last process that has the descriptor.
//
//   const PortBlocks blocks(port_lock_directories("/srv/paceline"));
//   auto ports = blocks.take(job, generation, ports_needed(world_size));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "model/ids.hpp"

namespace paceline::agent {

inline constexpr std::uint32_t kPortBlock = 8;

struct Ports {
  std::uint32_t first = 0;
  std::vector<UniqueFd> locks;  // hand a copy of each to every supervisor of the gang
};

class PortBlocks {
 public:
  // The locks lie in the first of the directories that is this user's own, or can be made so.
  explicit PortBlocks(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}

  // `count` consecutive ports for one generation of a job. The search starts at a place that user,
  // job and generation decide, so that the nodes of a gang agree unless one of them has to move on,
  // and servers of different users, which see nothing of each other's locks, seldom meet.
  // Errors: unavailable, storage: the machine's want, unless it never has so many.
  [[nodiscard]] Result<Ports> take(JobId job, Generation generation, std::uint32_t count) const;
  // Where that search starts: ports for a job that can do without, where none are left to be held.
  [[nodiscard]] static std::uint32_t preferred(JobId job, Generation generation,
                                               std::uint32_t count);

 private:
  std::vector<std::string> directories_;
};

// Where every server of this user on this machine looks, and last in its own directory, for
// machines that have nothing of the kind.
std::vector<std::string> port_lock_directories(const std::string& server_directory);

// Copies of descriptors, for a supervisor to hold. Errors: storage (no descriptor is left).
Result<std::vector<UniqueFd>> duplicate(const std::vector<UniqueFd>& fds);

// The first port and the end of the range that blocks lie in, from the text of
// /proc/sys/net/ipv4/ip_local_port_range.
struct PortRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};
PortRange usable_ports(std::string_view ephemeral);

}  // namespace paceline::agent
