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

// The name of a worker's process, from its start to its end: what agents start, claim, report by and
// fence, and what holds leases. It is the generation that the process was born into and its number
// there, and says nothing of the gang it is in now: that is asked of the gang (Gang::rank_of).
struct ProcessKey {
  JobId job;
  Generation born;
  std::int32_t number = 0;
  friend constexpr auto operator<=>(const ProcessKey&, const ProcessKey&) = default;
};

}  // namespace paceline
