// Which nodes: how many units of a gang go where. For the .cpp files of placement/ alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/stock.hpp"

namespace paceline {

enum class PlacingStyle {
  pack,    // as few nodes as possible, the tightest that do
  spread,  // as few workers on each node as possible, the emptiest ones
};

struct Load {
  NodeId node;
  std::int32_t units = 0;
};
using Loads = std::vector<Load>;

// Nodes for `units` (>= 1) units, in the order their ranks are given; nothing if they don't fit.
// Nodes of one rack, else behind one switch, are taken where that costs no further node (pack) and
// no further worker on a node (spread).
std::optional<Loads> find_nodes(const Stock& stock, PlacingStyle style, std::int32_t units);

// The same within one part of the cluster, nearness aside.
std::optional<Loads> find_nodes_in(const Stock& stock, PlacingStyle style, const Area& area,
                                   std::int32_t units);

}  // namespace paceline
