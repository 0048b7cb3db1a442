// Machines of the clusters that are measured: eight GPUs each, all alike.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "model/event.hpp"

namespace paceline {

inline constexpr std::int64_t kSlotsPerNode = 8;

inline NodeUp gpu_node(std::int64_t i) {
  NodeSpec spec;
  spec.name = fmt::format("node-{}", i);
  spec.slots.assign(kSlotsPerNode, SlotSpec{SlotKind::gpu, "h100", "", 0, true, "", 0, 0});
  return {NodeId{static_cast<std::uint32_t>(i)}, spec};
}

}  // namespace paceline
