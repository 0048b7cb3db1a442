#include "model/gang_ports.hpp"

#include <algorithm>

#include "base/digest.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t blocks_for(std::uint32_t ports) {
  return ports / kPortBlock + (ports % kPortBlock == 0 ? 0 : 1);
}

}  // namespace

PortRange common(const PortRange& a, const PortRange& b) {
  return {std::max(a.first, b.first), std::min(a.end, b.end)};
}

std::uint32_t ports_needed(std::int32_t world_size) {
  return kFixedPorts + (world_size <= kTfWorkersMax ? static_cast<std::uint32_t>(world_size) : 0);
}

PortRuns port_runs(const PortRange& range, std::uint32_t ports) {
  const std::uint32_t begin = blocks_for(range.first);
  const std::uint32_t end = range.end / kPortBlock;
  const std::uint32_t wanted = blocks_for(ports);
  if (wanted == 0 || end < begin || wanted > end - begin) return {};
  return {begin * kPortBlock, end - begin - wanted + 1};
}

std::optional<std::uint32_t> gang_port(const PortRange& range, JobId job, Generation generation,
                                       std::uint32_t ports, std::uint64_t salt) {
  const PortRuns runs = port_runs(range, ports);
  if (runs.count == 0) return std::nullopt;
  Digest digest;
  digest.add(std::uint64_t{job.value}).add(std::uint64_t{generation.value}).add(salt);
  const auto at = static_cast<std::uint32_t>(digest.value() % runs.count);
  return runs.first + at * kPortBlock;
}

}  // namespace paceline
