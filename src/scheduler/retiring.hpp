// Which nodes retire, and when: those that were absent for so long, or left for good, and hold nothing of any
// job. So what could ever fit is judged by the nodes that there are.
//
//   retiring.begin(state, now, from);                              // once, before anything else
//   retiring.follow(state, entry);                                 // after each entry
//   if (auto nodes = retiring.due(state, now); !nodes.empty()) …   // NodesRetired{nodes}
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

class Retiring {
 public:
  explicit Retiring(Duration after) : after_(after) {}

  // None retires before `from`: a server that was away hears first who is there. A node of which
  // nobody knows since when it is absent counts from now on.
  void begin(const State& state, Time now, Time from);
  void follow(const State& state, const Entry& entry);
  // It will not come back as it is: it retires as soon as it is absent and holds nothing.
  void left(const Node& node, Time now);
  // It may come back: it counts as any other again.
  void joined(const Node& node, Time now);

  // Those that are to retire now, in id order. One that holds something still is looked at again
  // a little later, and so is all that was not made durable.
  [[nodiscard]] std::vector<NodeId> due(const State& state, Time now);
  // When there may be some; nothing: not before a node is absent.
  [[nodiscard]] std::optional<Time> next() const;

 private:
  void look_at(const Node& node, Time unknown);

  Duration after_;
  Time not_before_;
  std::set<NodeId> left_;
  std::map<NodeId, Time> old_at_;             // the absent ones
  std::set<std::pair<Time, NodeId>> by_age_;  // the same
};

}  // namespace paceline
