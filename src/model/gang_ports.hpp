// Ports of a gang: MASTER_PORT, the JAX coordinator's, then one of its own for every rank
// (TF_CONFIG; the default of a torchrun that the script starts itself). On all of its nodes they are
// the same, so the server names them, by the job and its generation: where one is taken, the next
// generation gets others.
//
//   const PortRange range = common(first_node.ports, second_node.ports);
//   gang_port(range, {job, generation}, ports_needed(world_size), salt);   → 24'016
#pragma once

#include <cstdint>
#include <optional>

#include "model/ids.hpp"

namespace paceline {

// From `first` to before `end`.
struct PortRange {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  friend bool operator==(const PortRange&, const PortRange&) = default;
};
// Of a node that told none: below what Linux hands out by itself.
inline constexpr PortRange kUsualPorts{20'000, 32'768};

// Empty: end <= first.
PortRange common(const PortRange& a, const PortRange& b);

// Ports are held in blocks, which begin at multiples of it.
inline constexpr std::uint32_t kPortBlock = 8;

inline constexpr std::uint32_t kFixedPorts = 2;  // MASTER_PORT and the JAX coordinator's
// Gangs of more than kTfWorkersMax workers get no TF_CONFIG.
inline constexpr std::int32_t kTfWorkersMax = 128;
std::uint32_t ports_needed(std::int32_t world_size);

// Runs of whole blocks in a range that hold so many ports: the i-th begins at first + i * kPortBlock.
struct PortRuns {
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // 0: the range never holds so many
};
PortRuns port_runs(const PortRange& range, std::uint32_t ports);

// The first of the ports for one generation of a job. Servers of different salt seldom meet.
// Nothing: the range never holds so many.
std::optional<std::uint32_t> gang_port(const PortRange& range, JobId job, Generation generation,
                                       std::uint32_t ports, std::uint64_t salt);

}  // namespace paceline
