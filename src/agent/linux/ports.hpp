// Ports for the gangs of this machine: outside the range that the kernel hands out by itself, free
// when they are given, and held against every other Paceline server of the machine for as long as
// the gang lives.
//
// Ports come in blocks of kPortBlock. A block is locked by a file that only this user can open, so
// nobody else keeps a server from starting jobs but by taking the ports themselves. The lock goes
// with the last process that has the descriptor.
//
//   const PortBlocks blocks(port_lock_directories("/srv/paceline"));
//   auto ports = blocks.take_from(launch.port, ports_needed(world_size));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "model/gang_ports.hpp"

namespace paceline::agent {

struct Ports {
  std::uint32_t first = 0;
  std::vector<UniqueFd> locks;  // hand a copy of each to every supervisor of the gang
};

class PortBlocks {
 public:
  // The locks lie in the first of the directories that is this user's own, or can be made so.
  explicit PortBlocks(std::vector<std::string> directories)
      : directories_(std::move(directories)) {}

  // `count` consecutive ports, the first ones that are free from `first` on, and then from the
  // beginning. `keeper` may take them again when the locks are gone: a file of the server's own.
  // Errors: unavailable, storage: the machine's want, unless it never has so many.
  [[nodiscard]] Result<Ports> take_from(std::uint32_t first, std::uint32_t count,
                                        std::string_view keeper = {}) const;
  // Exactly these. Agents of one machine that name the same gang have them together: each of its ranks has a
  // port of its own. Empty: nobody else does. Errors: as above; conflict: somebody has one of them, and others
  // are free.
  [[nodiscard]] Result<Ports> take_at(std::uint32_t first, std::uint32_t count,
                                      std::string_view gang = {}) const;
  // The one port that this keeper took before, though processes of its own may be bound to it.
  // Nothing: somebody has taken it since.
  [[nodiscard]] std::optional<Ports> take_again(std::uint32_t port, std::string_view keeper) const;

 private:
  std::vector<std::string> directories_;
};

// Where every server of this user on this machine looks, and last in its own directory, for
// machines that have nothing of the kind.
std::vector<std::string> port_lock_directories(const std::string& server_directory);

// Copies of descriptors, for a supervisor to hold. Errors: storage (no descriptor is left).
Result<std::vector<UniqueFd>> duplicate(const std::vector<UniqueFd>& fds);

// The range that blocks lie in, from the text of /proc/sys/net/ipv4/ip_local_port_range.
PortRange usable_ports(std::string_view ephemeral);
// Of this machine.
PortRange usable_ports();

}  // namespace paceline::agent
