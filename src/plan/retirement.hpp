// Which nodes may leave the cluster (NodesRetired).
#pragma once

#include <span>
#include <vector>

#include "model/state.hpp"

namespace paceline {

// Those of the nodes that are down, have not retired, and in which no job that is not over has a seat:
// nothing of a job runs there, may still run, is frozen or is to start. In the order given.
// Cost: O(nodes + workers of all gangs).
std::vector<NodeId> may_retire(const State& state, std::span<const NodeId> nodes);

}  // namespace paceline
