// elastic-fifo
// Objective:   every job trains: as many jobs as possible at their minimum, then every slot used.
// Rule:        minimum sizes in arrival order (a job whose minimum doesn't fit is passed over and
//              gets nothing), then the rest is spread one worker at a time in arrival order, never
//              over a maximum. Running jobs shrink towards their share when a waiting one can start
//              from it, and grow when slots are free. No running job is stopped. Where slots lie
//              on machines that can't serve a job: divide() (policy/shares.hpp).
// Assumptions: a resize keeps progress: jobs that can't be resized now keep their size and are left
//              out of the sharing.
// Cost:        O(jobs · log jobs + slots) a round.
// Source:      Elastic-FIFO of Voda (2023), without its two defects (a job below its minimum; a job
//              over its maximum). Generalisations: running jobs keep their minimum before waiting
//              ones get theirs; several slots a worker.
// Needs:       nothing.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class ElasticFifo : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
};

}  // namespace paceline
