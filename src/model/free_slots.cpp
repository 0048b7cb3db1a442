#include "model/free_slots.hpp"

#include <utility>

#include "base/check.hpp"

namespace paceline {

void FreeSlots::add_node(NodeId node, std::uint32_t slots) {
  check(!logging_, "nodes are not added inside a what-if");
  check(node.value <= nodes_.size(), "nodes are added in id order");
  if (node.value == nodes_.size()) nodes_.emplace_back();
  auto& known = nodes_[node.value].free;
  if (slots > known.size()) known.resize(slots, false);
}

void FreeSlots::set_free(SlotId slot, bool free) {
  if (is_free(slot) == free) return;
  if (logging_) log_.push_back(slot);
  change(slot, free);
}

void FreeSlots::change(SlotId slot, bool free) {
  auto& node = nodes_[slot.node.value];
  node.free[slot.index] = free;
  if (node.count > 0) {
    const auto bucket = by_count_.find(node.count);
    bucket->second.erase(slot.node);
    if (bucket->second.empty()) by_count_.erase(bucket);
  }
  node.count = free ? node.count + 1 : node.count - 1;
  total_ = free ? total_ + 1 : total_ - 1;
  if (node.count > 0) by_count_[node.count].insert(slot.node);
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
  const auto bucket = by_count_.lower_bound(count);
  if (bucket == by_count_.end()) return std::nullopt;
  return *bucket->second.begin();
}

std::optional<NodeId> FreeSlots::emptiest(std::uint32_t count) const {
  if (by_count_.empty() || by_count_.rbegin()->first < count) return std::nullopt;
  return *by_count_.rbegin()->second.begin();
}

std::optional<NodeId> FreeSlots::next_from(NodeId from, std::uint32_t count) const {
  std::optional<NodeId> first;
  for (auto bucket = by_count_.lower_bound(count); bucket != by_count_.end(); ++bucket) {
    const auto node = bucket->second.lower_bound(from);
    if (node != bucket->second.end() && (!first || *node < *first)) first = *node;
  }
  return first;
}

FreeSlots::Mark FreeSlots::mark() {
  logging_ = true;
  return log_.size();
}

void FreeSlots::rewind(Mark mark) {
  check(logging_ && mark <= log_.size(), "a mark is rewound inside its what-if");
  while (log_.size() > mark) {
    const SlotId slot = log_.back();
    log_.pop_back();
    change(slot, !is_free(slot));
  }
}

void FreeSlots::end_what_if() {
  check(log_.empty(), "a what-if ends rewound");
  logging_ = false;
}

}  // namespace paceline
