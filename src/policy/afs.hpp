// afs
// Objective:   the least mean completion time of jobs that scale.
// Rule:        slots are given out one step at a time to the job whose next step shortens the mean
//              completion most. Of two jobs, with a the shorter: b, if
//              (s_b(n+1) − s_b(n)) / s_b(n+1) > (s_a(n+1) − s_a(n)) / s_a(n), else a; of two that
//              have nothing, the shorter. Looked through from the shortest to the longest.
// Assumptions: lengths are about right; sizes may change at every arrival and end.
// Cost:        O(jobs · log jobs + slots · changes of the leader · log jobs) a round.
// Source:      AFS-L (NSDI'21). Generalisations: a first step is the smallest size, and further ones
//              whole model copies, weighed per slot; a job that can't be resized keeps its size or
//              gets nothing; larger priorities are served first.
// Needs:       lengths, and speed-ups: where none were measured the prior (estimate/scaling.hpp).
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Afs : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
};

}  // namespace paceline
