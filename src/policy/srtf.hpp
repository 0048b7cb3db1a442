// srtf
// Objective:   the least mean completion time.
// Rule:        larger priority first, then who has the least left to run; down the line whoever
//              fits has its slots, whoever doesn't is stopped for those who do. Sizes never change.
// Assumptions: lengths are about right, and a stopped job goes on from its checkpoint. Long jobs
//              may wait for as long as short ones come.
// Cost:        O(running · log running + started · log waiting) a round.
// Source:      shortest remaining time first; who was stopped is protected (plan/protection.hpp).
// Needs:       lengths (--expect, progress, or history of the name); a job without one comes last,
//              by arrival.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Srtf : public Policy {
 public:
  void decide(const Snapshot& snapshot, Draft& draft) const override;
  // A newcomer that doesn't fit in what is free, and is too long for any stop to be worth it, is passed
  // over.
  [[nodiscard]] Quiet quiet() const override;
};

}  // namespace paceline
