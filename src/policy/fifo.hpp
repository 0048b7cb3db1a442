// fifo
// Objective:   start jobs in arrival order; the head of the line blocks those behind it.
// Rule:        larger priority first, then who came first; each starts with the workers it wants
//              (`--slots 2..8@4`: 4).
// Assumptions: none. Sizes never change.
// Cost:        O(started jobs · log nodes) a round; the walk ends at the head that has to wait.
// Source:      the FIFO of Schedulearn (2023), as meant: with a queue, and with slots leased.
// Needs:       nothing.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Fifo : public Policy {
 public:
  void decide(const Snapshot& snapshot, Draft& draft) const override;
};

}  // namespace paceline
