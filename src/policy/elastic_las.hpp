// elastic-las
// Objective:   as las, with every slot used.
// Rule:        las at wanted sizes, but a job that would be stopped keeps its smallest size where
//              that still fits. Then, while more than `pending` jobs wait, running jobs in lower
//              queues are compacted to their smallest sizes. What that frees goes first to the jobs
//              that would be stopped, then to waiting jobs that fit. The rest goes one step at a
//              time to the job whose speed gains most from it.
// Parameters:  those of las; pending=10.
// Assumptions: as las; a resize keeps progress: a job that can't be resized keeps its size.
// Cost:        O(running · log running + started · log waiting + slots · log running) a round.
// Source:      Elastic-Tiresias of Voda (2023); EDL (2022) for compaction and expansion.
//              Generalisations: several slots a worker; steps of whole model copies; the gain is
//              counted per slot.
// Needs:       speed-ups; where none were measured the prior (estimate/scaling.hpp).
#pragma once

#include "policy/las.hpp"

namespace paceline {

class ElasticLas : public Policy {
 public:
  ElasticLas(const LasParameters& parameters, std::int64_t pending)
      : parameters_(parameters), pending_(pending) {}
  static PolicyInfo info();
  static Result<std::unique_ptr<Policy>> make(const Parameters& parameters);

  void decide(const Snapshot& snapshot, Draft& draft) const override;

 private:
  LasParameters parameters_;
  std::int64_t pending_;
};

}  // namespace paceline
