// round-robin
// Objective:   spread jobs over the nodes, each job near itself.
// Rule:        nodes take turns; a job goes whole to the next node with room for it, full ones are
//              skipped; a job larger than any node is spread over as few as possible. Arrival
//              order, the head of the line blocks. Sizes never change.
// Assumptions: none.
// Cost:        O(started jobs · log nodes) a round.
// Source:      Schedulearn (2023), with one generalisation: jobs larger than a node.
// Needs:       nothing. Remembers whose turn it is (memo `round-robin.next`).
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class RoundRobin : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] bool keeps_line() const override { return true; }
};

}  // namespace paceline
