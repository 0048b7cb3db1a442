// srtf
// Objective:   the least mean completion time.
// Rule:        larger priority first, then the job with the least left to run. Down the line each
//              job that fits has its slots; a running job that doesn't fit is stopped for those
//              that do. Sizes never change.
// Assumptions: lengths are about right, and a stopped job goes on from its checkpoint. Long jobs
//              may wait for as long as short ones come.
// Cost:        O(running · log running + started · log waiting) a round.
// Source:      shortest remaining time first; running jobs are protected (plan/protection.hpp).
// Needs:       lengths (--expect, progress, or history of the name); a job without one comes last,
//              by arrival.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Srtf : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  // A newcomer that doesn't fit in what is free, and is too long for any stop to be worth it, is
  // passed over.
  [[nodiscard]] Quiet quiet() const override;
};

}  // namespace paceline
