#include "model/free_slots.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace paceline {

std::set<NodeId>& Shelf::with(std::uint32_t count) {
  if (count >= by_count_.size()) by_count_.resize(count + 1);
  return by_count_[count];
}

void Shelf::add(NodeId node, std::uint32_t count) {
  with(count).insert(node);
  total_ += count;
}

void Shelf::remove(NodeId node, std::uint32_t count) {
  with(count).erase(node);
  total_ -= count;
}

// Nothing is allocated once a node had that many.
void Shelf::move(NodeId node, std::uint32_t from, std::uint32_t to) {
  with(std::max(from, to));
  by_count_[to].insert(by_count_[from].extract(node));
  total_ = total_ + to - from;
}

std::uint32_t FreeSlots::make_shelf(Area area, std::uint32_t number, std::uint32_t kind) {
  const auto next = static_cast<std::uint32_t>(shelves_.size());
  const auto [at, added] = shelf_of_.try_emplace(ShelfKey{area, number, kind}, next);
  if (!added) return at->second;
  shelves_.emplace_back();
  if (area == Area::cluster) kinds_.push_back(next);
  return next;
}

const Shelf* FreeSlots::find(const ShelfKey& key) const {
  const auto at = shelf_of_.find(key);
  return at == shelf_of_.end() ? nullptr : &shelves_[at->second];
}

const Shelf* FreeSlots::shelf(std::uint32_t kind) const { return find({Area::cluster, 0, kind}); }

const Shelf* FreeSlots::rack_shelf(std::uint32_t rack, std::uint32_t kind) const {
  return find({Area::rack, rack, kind});
}

const Shelf* FreeSlots::network_shelf(std::uint32_t network, std::uint32_t kind) const {
  return find({Area::network, network, kind});
}

void FreeSlots::add_node(NodeId id, std::uint32_t slots, const NodeSite& site) {
  check(!logging_, "nodes are not added inside a what-if");
  check(id.value <= nodes_.size(), "nodes are added in id order");
  if (id.value == nodes_.size()) nodes_.emplace_back();
  NodeSlots& node = nodes_[id.value];
  if (slots > node.free.size()) node.free.resize(slots, false);
  if (!node.shelves.empty() && node.site == site) return;
  for (const auto shelf : node.shelves) shelves_[shelf].remove(id, node.count);
  node.site = site;
  node.shelves = {make_shelf(Area::cluster, 0, site.kind)};
  if (site.rack) node.shelves.push_back(make_shelf(Area::rack, *site.rack, site.kind));
  if (site.network) node.shelves.push_back(make_shelf(Area::network, *site.network, site.kind));
  for (const auto shelf : node.shelves) shelves_[shelf].add(id, node.count);
}

void FreeSlots::set_free(SlotId slot, bool free) { Changes(*this).set(slot, free); }

void FreeSlots::Changes::set(SlotId slot, bool free) {
  if (free_.is_free(slot) == free) return;
  if (free_.logging_) free_.log_.push_back(slot);
  toggle(slot);
}

void FreeSlots::Changes::toggle(SlotId slot) {
  NodeSlots& node = free_.nodes_[slot.node.value];
  if (!any_ || slot.node != node_) {
    reshelve();
    any_ = true;
    node_ = slot.node;
    before_ = node.count;
  }
  const bool free = !node.free[slot.index];
  node.free[slot.index] = free;
  node.count = free ? node.count + 1 : node.count - 1;
  free_.total_ = free ? free_.total_ + 1 : free_.total_ - 1;
}

void FreeSlots::Changes::reshelve() {
  if (!any_) return;
  const NodeSlots& node = free_.nodes_[node_.value];
  if (node.count == before_) return;
  for (const auto shelf : node.shelves) free_.shelves_[shelf].move(node_, before_, node.count);
}

bool FreeSlots::is_free(SlotId slot) const {
  check(slot.node.value < nodes_.size() && slot.index < nodes_[slot.node.value].free.size(),
        "the slot exists");
  return nodes_[slot.node.value].free[slot.index];
}

std::uint32_t FreeSlots::free_on(NodeId node) const {
  return node.value < nodes_.size() ? nodes_[node.value].count : 0;
}

std::vector<std::uint32_t> FreeSlots::first_free(NodeId node, std::uint32_t count) const {
  check(free_on(node) >= count, "the node has that many free slots");
  std::vector<std::uint32_t> found;
  found.reserve(count);
  const auto& free = nodes_[node.value].free;
  for (std::uint32_t i = 0; found.size() < count; ++i) {
    if (free[i]) found.push_back(i);
  }
  return found;
}

std::optional<NodeId> FreeSlots::best_fit(std::uint32_t count) const {
  std::optional<NodeId> best;
  for (const auto shelf : kinds_) {
    const auto& by_count = shelves_[shelf].by_count();
    std::uint32_t n = count;
    while (n < by_count.size() && by_count[n].empty()) ++n;
    if (n >= by_count.size()) continue;
    const NodeId first = *by_count[n].begin();
    if (!best || std::pair{n, first} < std::pair{free_on(*best), *best}) best = first;
  }
  return best;
}

std::optional<NodeId> FreeSlots::emptiest(std::uint32_t count) const {
  std::optional<NodeId> best;
  for (const auto shelf : kinds_) {
    const auto& by_count = shelves_[shelf].by_count();
    auto n = by_count.size();
    while (n > count && by_count[n - 1].empty()) --n;
    if (n <= count) continue;
    const NodeId first = *by_count[n - 1].begin();
    const bool more = !best || free_on(first) > free_on(*best);
    if (more || (free_on(first) == free_on(*best) && first < *best)) best = first;
  }
  return best;
}

std::optional<NodeId> FreeSlots::next_from(NodeId from, std::uint32_t count) const {
  std::optional<NodeId> first;
  for (const auto shelf : kinds_) {
    const auto& by_count = shelves_[shelf].by_count();
    for (std::size_t n = count; n < by_count.size(); ++n) {
      const auto node = by_count[n].lower_bound(from);
      if (node != by_count[n].end() && (!first || *node < *first)) first = *node;
    }
  }
  return first;
}

FreeSlots::Mark FreeSlots::mark() {
  logging_ = true;
  return log_.size();
}

void FreeSlots::rewind(Mark mark) {
  check(logging_ && mark <= log_.size(), "a mark is rewound inside its what-if");
  Changes changes(*this);
  for (; log_.size() > mark; log_.pop_back()) changes.toggle(log_.back());
}

void FreeSlots::end_what_if() {
  check(log_.empty(), "a what-if ends rewound");
  logging_ = false;
}

}  // namespace paceline
