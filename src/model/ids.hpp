// The names of things. Job ids are the small integers that users type; a generation numbers a
// gang's membership and is never reused within its job.
#pragma once

#include <cstdint>

#include "base/id.hpp"

namespace paceline {

using JobId = Id<struct JobTag, std::uint32_t>;
using NodeId = Id<struct NodeTag, std::uint32_t>;
using Generation = Id<struct GenerationTag, std::uint32_t>;  // 0: none yet

// One slot of one node, by its index there.
struct SlotId {
  NodeId node;
  std::uint32_t index = 0;
  friend constexpr auto operator<=>(const SlotId&, const SlotId&) = default;
};

// One worker of one gang: the unit that agents start, report and fence.
struct WorkerKey {
  JobId job;
  Generation generation;
  std::int32_t rank = 0;
  friend constexpr auto operator<=>(const WorkerKey&, const WorkerKey&) = default;
};

}  // namespace paceline
