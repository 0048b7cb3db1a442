#include "scheduler/drains.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace paceline {
namespace {

// A node that drains already began before the order: it ends so long after the order all the same.
DrainOrder counted_anew(const State& state, std::span<const NodeId> nodes, DrainOrder order,
                        WallTime now) {
  const auto drains = [&](NodeId node) { return state.find_node(node)->drains(); };
  if (!order.within || std::ranges::none_of(nodes, drains)) return order;
  order.until = order.from.value_or(now) + *order.within;
  order.within.reset();
  return order;
}

}  // namespace

Result<std::vector<NodeId>> Drains::admitted(std::span<const std::string> names,
                                             const DrainOrder& order) const {
  std::vector<NodeId> nodes;
  for (const std::string& name : names) {
    const auto node = admit(parts_.state, name, order, parts_.clock.wall());
    if (!node) return fail(node.error());
    nodes.push_back((*node)->id);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

void Drains::drain(std::string_view name, DrainOrder order, Principal by, Done<void> done) {
  const std::string node(name);
  drain_together({&node, 1}, std::move(order), std::move(by), std::move(done));
}

// What is ordered between two rounds is durable at once, or not at all.
void Drains::drain_together(std::span<const std::string> names, DrainOrder order, Principal by,
                            Done<void> done) {
  const auto nodes = admitted(names, order);
  if (!nodes) return done(fail(nodes.error()));
  check(!nodes->empty(), "a node is named");
  DrainOrder anew = counted_anew(parts_.state, *nodes, std::move(order), parts_.clock.wall());
  for (const NodeId node : std::span(*nodes).first(nodes->size() - 1))
    parts_.order(NodeDrained{node, anew, by}, [](const Result<void>&) {});
  parts_.order(NodeDrained{nodes->back(), std::move(anew), std::move(by)}, std::move(done));
}

void Drains::undrain(std::string_view name, Principal by, Done<void> done) {
  const auto node = admit_undrain(parts_.state, name);
  if (!node) return done(fail(node.error()));
  parts_.order(NodeUndrained{(*node)->id, std::move(by)}, std::move(done));
}

Result<DrainOutlook> Drains::look_at(std::string_view name, const DrainOrder& order) const {
  const std::string node(name);
  return look_at_together({&node, 1}, order);
}

Result<DrainOutlook> Drains::look_at_together(std::span<const std::string> names,
                                              const DrainOrder& order) const {
  const auto nodes = admitted(names, order);
  if (!nodes) return fail(nodes.error());
  const Lineup* lineup = parts_.policies.lineup();
  const Decider decide_by = [lineup](const Snapshot& present, Draft& into) -> Result<void> {
    if (lineup != nullptr) static_cast<void>(lineup->choose(present, into));
    return {};
  };
  return outlook_of_drain({parts_.state, parts_.clock.now()}, *nodes,
                          counted_anew(parts_.state, *nodes, order, parts_.clock.wall()),
                          {decide_by, parts_.placer, parts_.protects}, departures_);
}

void Drains::follow(const Event& event, Time at) {
  if (failing_) failing_->follow(parts_.state, event, at);
  departures_.follow(parts_.state, event, at);
}

std::vector<Event> Drains::due(Time now) {
  const State& state = parts_.state;
  std::vector<Event> due;
  if (failing_)
    for (NodeDrained& drained : failing_->due(state)) due.emplace_back(std::move(drained));
  for (const NodeId id : state.drains_announced())
    if (state.drain_begins(*state.find_node(id)) <= now) due.emplace_back(DrainBegan{id});
  return due;
}

std::optional<Time> Drains::next(Time now) const {
  const State& state = parts_.state;
  if (failing_ && failing_->any_due(state)) return now;
  std::optional<Time> next;
  for (const NodeId id : state.drains_announced()) {
    const Time begins = state.drain_begins(*state.find_node(id));
    next = std::min(next.value_or(begins), begins);
  }
  return next;
}

}  // namespace paceline
