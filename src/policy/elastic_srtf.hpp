// elastic-srtf
// Objective:   the least mean completion time, with every slot used.
// Rule:        smallest sizes down the line, the job with the least left to run first, as long as
//              they fit; then the rest one step at a time in that order, never over a maximum. A
//              running job that no longer has a place shrinks, or is stopped for those that do.
//              Where slots lie on machines that can't serve a job: divide() (policy/shares.hpp).
// Assumptions: as srtf; a resize keeps progress: a job that can't be resized keeps its size.
// Cost:        O(running · log running + admitted · log waiting + slots) a round.
// Source:      Elastic-SRJF of Voda (2023), without its defect (a job over its maximum).
//              Generalisations: preemptive; several slots a worker; steps of whole model copies.
// Needs:       lengths; a job without one comes last, by arrival.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class ElasticSrtf : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
};

}  // namespace paceline
