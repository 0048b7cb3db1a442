// Nodes where one job after the other fails right after its start, whoever submitted it: such a node is
// set aside, so that it doesn't eat the queue.
//
//   failing.follow(state, event, at);        // before each event is folded
//   for (auto& drained : failing.due(state)) …   // NodeDrained, of jobs that start there no more
//
// Failures count by owner, since a script that is wrong fails anywhere. A job that ends well, or runs for
// longer than kFailsWithin, clears its nodes. The last node that starts jobs is never set aside. What a
// former server counted is not known.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/state.hpp"

namespace paceline {

inline constexpr Duration kFailsWithin = std::chrono::minutes{1};

class FailingNodes {
 public:
  // So many owners in a row. REQUIRES: > 0.
  explicit FailingNodes(std::uint64_t owners) : owners_(owners) {}

  void follow(const State& state, const Event& event, Time at);
  [[nodiscard]] bool any_due(const State& state) const;
  [[nodiscard]] std::vector<NodeDrained> due(const State& state);

 private:
  [[nodiscard]] bool is_due(const State& state, NodeId id,
                            const std::set<std::string>& owners) const;

  std::uint64_t owners_;
  std::map<NodeId, std::set<std::string>> failed_;  // whose jobs, in a row
};

}  // namespace paceline
