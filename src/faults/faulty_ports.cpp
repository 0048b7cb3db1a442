#include "faults/faulty_ports.hpp"

#include <algorithm>

namespace paceline::faults {
namespace {

// The blocks that the ports lie in are held whole.
PortRange whole_blocks(const PortRange& ports) {
  const std::uint32_t first = ports.first / kPortBlock * kPortBlock;
  return {first, (ports.end + kPortBlock - 1) / kPortBlock * kPortBlock};
}

bool meet(const PortRange& a, const PortRange& b) {
  const PortRange both = common(whole_blocks(a), whole_blocks(b));
  return both.first < both.end;
}

}  // namespace

bool FaultyPorts::is_free(const PortRange& ports) const {
  return std::ranges::none_of(held_,
                              [&](const auto& each) { return meet(each.second.ports, ports); }) &&
         std::ranges::none_of(strangers_, [&](std::uint32_t block) {
           return meet({block, block + kPortBlock}, ports);
         });
}

std::optional<PortRange> FaultyPorts::find_free(std::uint32_t from, std::uint32_t count) const {
  const PortRuns runs = port_runs(range_, count);
  const std::uint32_t start = from > runs.first ? (from - runs.first) / kPortBlock : 0;
  for (std::uint32_t i = 0; i < runs.count; ++i) {
    const std::uint32_t first = runs.first + (start + i) % runs.count * kPortBlock;
    if (is_free({first, first + count})) return PortRange{first, first + count};
  }
  return std::nullopt;
}

FaultyPorts::Answer FaultyPorts::take(const WorkerLaunch& launch) {
  const Gang gang{launch.key.job, launch.key.born};
  if (const auto known = held_.find(gang); known != held_.end()) {
    ++known->second.workers;
    return {known->second.ports};
  }
  const auto found = find_free(launch.port, ports_needed(launch.world_size));
  if (!found && launch.world_size == 1) return {PortRange{}};
  if (!found) return {};
  if (launch.group_world_size > 1 && found->first != launch.port) return {{}, true};
  held_[gang] = {*found, 1};
  return {found};
}

void FaultyPorts::leave(const ProcessKey& worker) {
  const auto found = held_.find({worker.job, worker.born});
  if (found != held_.end() && --found->second.workers == 0) held_.erase(found);
}

std::optional<std::uint32_t> FaultyPorts::let_stranger_in(std::uint64_t place) {
  const PortRuns blocks = port_runs(range_, 1);
  const std::uint32_t block =
      blocks.first + static_cast<std::uint32_t>(place % blocks.count) * kPortBlock;
  if (!is_free({block, block + 1})) return std::nullopt;
  strangers_.insert(block);
  return block;
}

}  // namespace paceline::faults
