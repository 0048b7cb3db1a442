#include "scheduler/retiring.hpp"

#include <algorithm>
#include <variant>

#include "plan/retirement.hpp"

namespace paceline {
namespace {

// Those that grow old one by one retire together.
constexpr Duration kTogetherMin = std::chrono::seconds{1};
constexpr Duration kTogetherMax = std::chrono::minutes{1};

}  // namespace

void Retiring::begin(const State& state, Time now, Time from) {
  not_before_ = from;
  for (const Node& node : state.nodes()) look_at(node, now);
}

void Retiring::follow(const State& state, const Entry& entry) {
  const auto* event = std::get_if<Event>(&entry.body);
  if (event == nullptr) return;
  const auto look = [&](NodeId id) { look_at(*state.find_node(id), entry.at); };
  if (const auto* up = std::get_if<NodeUp>(event)) look(up->node);
  if (const auto* down = std::get_if<NodeDown>(event)) look(down->node);
  if (const auto* retired = std::get_if<NodesRetired>(event))
    std::ranges::for_each(retired->nodes, look);
}

void Retiring::left(const Node& node, Time now) {
  left_.insert(node.id);
  look_at(node, now);
}

void Retiring::joined(const Node& node, Time now) {
  left_.erase(node.id);
  look_at(node, now);
}

void Retiring::look_at(const Node& node, Time unknown) {
  if (const auto known = old_at_.find(node.id); known != old_at_.end()) {
    by_age_.erase({known->second, node.id});
    old_at_.erase(known);
  }
  if (node.up || node.retired) return;
  const Duration after = left_.contains(node.id) ? Duration::zero() : after_;
  const Time old_at = node.absent_since.value_or(unknown) + after;
  old_at_.emplace(node.id, old_at);
  by_age_.emplace(old_at, node.id);
}

std::vector<NodeId> Retiring::due(const State& state, Time now) {
  if (const auto at = next(); !at || now < *at) return {};
  not_before_ = now + std::clamp<Duration>(after_ / 10, kTogetherMin, kTogetherMax);
  std::vector<NodeId> old;
  for (const auto& [id, old_at] : old_at_) {
    if (old_at <= now) old.push_back(id);
  }
  return may_retire(state, old);
}

std::optional<Time> Retiring::next() const {
  if (by_age_.empty()) return std::nullopt;
  return std::max(by_age_.begin()->first, not_before_);
}

}  // namespace paceline
