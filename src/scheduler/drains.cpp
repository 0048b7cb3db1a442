#include "scheduler/drains.hpp"

#include <algorithm>
#include <utility>

namespace paceline {

void Drains::drain(std::string_view name, DrainOrder order, Principal by, Done<void> done) {
  const auto node = admit(parts_.state, name, order, parts_.clock.wall());
  if (!node) return done(fail(node.error()));
  parts_.order(NodeDrained{(*node)->id, std::move(order), std::move(by)}, std::move(done));
}

void Drains::undrain(std::string_view name, Principal by, Done<void> done) {
  const auto node = admit_undrain(parts_.state, name);
  if (!node) return done(fail(node.error()));
  parts_.order(NodeUndrained{(*node)->id, std::move(by)}, std::move(done));
}

Result<DrainOutlook> Drains::look_at(std::string_view name, const DrainOrder& order) const {
  const auto node = admit(parts_.state, name, order, parts_.clock.wall());
  if (!node) return fail(node.error());
  const Lineup* lineup = parts_.policies.lineup();
  const Decider decide_by = [lineup](const Snapshot& present, Draft& into) -> Result<void> {
    if (lineup != nullptr) static_cast<void>(lineup->choose(present, into));
    return {};
  };
  return outlook_of_drain({parts_.state, parts_.clock.now()}, (*node)->id, order,
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
