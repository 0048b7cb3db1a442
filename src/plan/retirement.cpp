#include "plan/retirement.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/check.hpp"

namespace paceline {
namespace {

std::set<NodeId> nodes_with_seats(const State& state) {
  std::set<NodeId> nodes;
  for (const QueueKey& key : state.queue()) {
    const Job& job = state.job(key.job);
    for (const auto* gang : std::array{&job.current, &job.forming}) {
      if (!*gang) continue;
      for (const Worker& worker : (*gang)->workers) nodes.insert(worker.seat.node);
    }
    for (const Parting& each : job.parting) nodes.insert(each.worker.seat.node);
  }
  return nodes;
}

}  // namespace

std::vector<NodeId> may_retire(const State& state, std::span<const NodeId> nodes) {
  std::vector<NodeId> free;
  const auto seated = nodes.empty() ? std::set<NodeId>() : nodes_with_seats(state);
  std::ranges::copy_if(nodes, std::back_inserter(free), [&](NodeId id) {
    const Node* node = state.find_node(id);
    check(node != nullptr, "the node exists");
    return !node->up && !node->retired && !seated.contains(id);
  });
  return free;
}

}  // namespace paceline
