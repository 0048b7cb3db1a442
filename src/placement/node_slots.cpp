#include "placement/node_slots.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace paceline {
namespace {

using Slots = std::vector<std::uint32_t>;

// The slots by island or NUMA domain, in the order of their numbers.
template <class Key>
std::vector<Slots> grouped(const NodeSpec& node, const Slots& slots, Key key) {
  std::map<std::int32_t, Slots> groups;
  for (const auto slot : slots) groups[key(node.slots[slot])].push_back(slot);
  std::vector<Slots> found;
  found.reserve(groups.size());
  for (auto& [number, group] : groups) found.push_back(std::move(group));
  return found;
}

// The tightest group with so many, else the largest.
std::vector<Slots>::iterator tightest_or_largest(std::vector<Slots>& groups, std::size_t count) {
  return std::min_element(groups.begin(), groups.end(), [&](const Slots& a, const Slots& b) {
    const bool a_holds = a.size() >= count, b_holds = b.size() >= count;
    if (a_holds != b_holds) return a_holds;
    return a_holds ? a.size() < b.size() : a.size() > b.size();
  });
}

// Moves so many slots out of the groups, from as few of them as possible.
Slots drawn(std::vector<Slots>& groups, std::size_t count) {
  Slots taken;
  while (taken.size() < count) {
    const auto group = tightest_or_largest(groups, count - taken.size());
    const auto here = std::min(count - taken.size(), group->size());
    const auto end = group->begin() + static_cast<std::ptrdiff_t>(here);
    taken.insert(taken.end(), group->begin(), end);
    group->erase(group->begin(), end);
  }
  return taken;
}

constexpr auto kIsland = [](const SlotSpec& slot) { return slot.island; };
constexpr auto kNuma = [](const SlotSpec& slot) { return slot.numa; };

// The slots of an island in the order in which they are near each other when `count` of them are
// taken.
Slots by_numa(const NodeSpec& node, const Slots& island, std::size_t count) {
  auto domains = grouped(node, island, kNuma);
  Slots near = drawn(domains, std::min(count, island.size()));
  for (const Slots& rest : domains) near.insert(near.end(), rest.begin(), rest.end());
  return near;
}

// Whole units from as few islands as possible; then units that no island has room for.
Slots slots_for(const NodeSpec& node, const Slots& free, std::size_t units, std::size_t unit) {
  auto islands = grouped(node, free, kIsland);
  Slots taken;
  while (units > 0) {
    const auto island = tightest_or_largest(islands, units * unit);
    const auto here = std::min(units, island->size() / unit);
    if (here == 0) break;
    *island = by_numa(node, *island, here * unit);
    const auto end = island->begin() + static_cast<std::ptrdiff_t>(here * unit);
    taken.insert(taken.end(), island->begin(), end);
    island->erase(island->begin(), end);
    units -= here;
  }
  const Slots rest = drawn(islands, units * unit);
  taken.insert(taken.end(), rest.begin(), rest.end());
  return taken;
}

Placement seats_from(NodeId node, const Slots& slots, std::size_t per_worker) {
  Placement seats(slots.size() / per_worker);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    seats[i / per_worker].node = node;
    seats[i / per_worker].slots.push_back(slots[i]);
  }
  for (Seat& seat : seats) std::sort(seat.slots.begin(), seat.slots.end());
  return seats;
}

}  // namespace

Placement seats_on_node(const Stock& stock, NodeId node, std::int32_t units) {
  Slots free = stock.slots_on(node);
  const auto count = static_cast<std::size_t>(units) * static_cast<std::size_t>(stock.unit_slots());
  if (!stock.state().topology().site(node).flat) {
    free = slots_for(stock.state().find_node(node)->spec, free, static_cast<std::size_t>(units),
                     static_cast<std::size_t>(stock.unit_slots()));
  }
  free.resize(count);
  return seats_from(node, free, static_cast<std::size_t>(stock.slots_per_worker()));
}

Slots near_slots(const NodeSpec& node, const Slots& slots, std::size_t count) {
  auto islands = grouped(node, slots, kIsland);
  return drawn(islands, count);
}

Links links_of(const State& state, const Placement& seats) {
  std::set<std::pair<NodeId, std::int32_t>> islands, numas;
  for (const Seat& seat : seats) {
    for (const auto index : seat.slots) {
      const SlotSpec& slot = state.find_node(seat.node)->slot_spec(index);
      islands.emplace(seat.node, slot.island);
      numas.emplace(seat.node, slot.numa);
    }
  }
  return {islands.size(), numas.size()};
}

}  // namespace paceline
