// sjf
// Objective:   the least mean waiting time without ever stopping a job.
// Rule:        larger priority first, then the job with the least left to run at its wanted size;
//              down the line each job that fits starts. Sizes never change.
// Assumptions: lengths are about right. Long jobs may wait for as long as short ones come.
// Cost:        O(started jobs · log waiting) a round.
// Source:      shortest job first; SRJF of Voda (2023), without preemption.
// Needs:       lengths (--expect, progress, or history of the name); a job without one comes last,
//              by arrival.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Sjf : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Quiet quiet() const override { return {.as_planned = true}; }
};

}  // namespace paceline
