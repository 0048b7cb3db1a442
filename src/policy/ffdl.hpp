// ffdl
// Objective:   maximise Σ speed-up over the running jobs.
// Rule:        as many jobs in arrival order as fit with their smallest sizes run; a dynamic
//              programme gives them the sizes with the largest sum of speed-ups. Where slots lie
//              on machines that can't serve a job: divide() (policy/shares.hpp).
// Parameters:  limit=1000000 (jobs × slots): beyond it slots go one step at a time to the largest
//              gain, which is the same wherever speed-ups have diminishing returns.
// Assumptions: sizes may change at every arrival and end; a job that can't be resized keeps its size.
// Cost:        O(jobs · slots · sizes) a round within the limit, else O(slots · log jobs).
// Source:      the optimiser of FfDL (MASCOTS'20): P[j][k] = max over g of speedup_j(g) + P[j−1][k−g],
//              jobs trimmed in arrival order. Generalisations: smallest sizes above one; steps of
//              whole model copies; several slots a worker.
// Needs:       speed-ups: where none were measured the prior (estimate/scaling.hpp).
#pragma once

#include <cstdint>

#include "policy/policy.hpp"

namespace paceline {

class Ffdl : public Policy {
 public:
  explicit Ffdl(std::int64_t limit) : limit_(limit) {}
  static PolicyInfo info();
  static Result<std::unique_ptr<Policy>> make(const Parameters& parameters);

  void decide(const Snapshot& snapshot, Draft& draft) const override;

 private:
  std::int64_t limit_;
};

}  // namespace paceline
