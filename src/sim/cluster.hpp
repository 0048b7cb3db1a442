// A cluster in words: "64x8" is 64 nodes of 8 slots, "2x8:A100;4x4:T4" two kinds of nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/node.hpp"

namespace paceline::sim {

inline constexpr std::int64_t kNodesMax = 100'000;
inline constexpr std::int64_t kSlotsPerNodeMax = 1'024;
inline constexpr std::int64_t kSlotsMax = 1'000'000;  // of the whole cluster

// Nodes are called node-1, node-2, …. Errors: invalid.
Result<std::vector<NodeSpec>> parse_cluster(std::string_view text);

// The same words for nodes wherever they are from; models are those of each node's first slot.
std::string cluster_text(const std::vector<NodeSpec>& nodes);

// What if the cluster were another: "+2x8:A100;+1x4" adds nodes, "-node-3" takes one away. New
// slots are of the model that all others have, where they have one and none is named. Errors:
// invalid, not_found.
Result<void> change_cluster(std::vector<NodeSpec>& nodes, std::string_view what_if);

// Of all the nodes together.
std::int64_t slots_of(const std::vector<NodeSpec>& nodes);

}  // namespace paceline::sim
