// deadline
// Objective:   as many jobs as possible end before their deadlines; the rest of the slots serve the
//              rest.
// Rule:        jobs with a deadline, the nearest first, each get their minimum satisfactory share:
//              the smallest size with which, next to the shares granted before, they end in time.
//              A job that may not be stopped has its smallest size in any case.
//              A job that can't end in time any more is served with the rest, as are jobs without
//              a deadline: smallest sizes first to running jobs, the one that would lose most
//              before the others (policy/harm.hpp), then by arrival; then one step at a time to the
//              largest gain.
// Assumptions: lengths are about right. A share is held until the job ends; slots that a nearer
//              deadline frees are counted for later ones.
// Cost:        O(d² · sizes) for d jobs with deadlines (at most 4,000 are looked at), besides
//              O(jobs · log jobs) a round.
// Source:      ElasticFlow (ASPLOS'23): minimum satisfactory share with an admission test by
//              progressive filling, then the slots that are left by marginal return.
//              Generalisations: smallest sizes above one; steps of whole model copies; a job that
//              fails the test is not refused but told, and runs as well as it can.
// Needs:       deadlines and lengths; speed-ups: where none were measured the prior.
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Deadline : public Policy {
 public:
  static PolicyInfo info();

  void decide(const Snapshot& snapshot, Draft& draft) const override;
};

}  // namespace paceline
