// Which slots of one node: a unit (tensor group) in one link island if any has room, the islands of
// a gang as few as possible and the tightest that do, within an island the fewest NUMA domains.
#pragma once

#include "placement/stock.hpp"

namespace paceline {

// Seats for so many units on the node. REQUIRES: stock.units_on(node) >= units.
Placement seats_on_node(const Stock& stock, NodeId node, std::int32_t units);

// How far apart seats on one node are; fewer is nearer.
struct Links {
  std::size_t islands = 0;
  std::size_t numas = 0;
  friend auto operator<=>(const Links&, const Links&) = default;
};
Links links_of(const State& state, const Placement& seats);

// So many of these slots of a node, near each other: of the tightest link island that holds them,
// else of those with most. REQUIRES: there are so many.
std::vector<std::uint32_t> near_slots(const NodeSpec& node, const std::vector<std::uint32_t>& slots,
                                      std::size_t count);

}  // namespace paceline
