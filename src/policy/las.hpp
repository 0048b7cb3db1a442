// las
// Objective:   short mean completion times when nobody knows lengths.
// Rule:        jobs fall through queues by the slot-seconds they had: queue i + 1 begins at
//              threshold · 10^i. Higher queues go first; within a queue who started first, then who
//              came first. Down the line whoever fits has its slots, whoever doesn't is stopped for
//              those who do. Who fell and then waits `promote` times as long as its service took
//              goes back to the first queue, its service counted anew. Sizes never change.
// Parameters:  queues=5 (1 to 16), threshold=3600 (slot-seconds), promote=8 (0: never).
// Assumptions: a stopped job goes on from its checkpoint. Demotion and promotion happen at the
//              exact instants: it asks for a round then.
// Cost:        O(running · log running + started · log waiting) a round.
// Source:      Tiresias-L (NSDI'19), with the threshold and the promotion of Voda (2023), which has
//              two queues. Generalisations: priorities come before queues; queues by powers of ten
//              beyond two, five of them (docs/decisions/0029-five-queues.md).
// Needs:       nothing. A promotion stands in the plan; the job remembers from where it counts.
#pragma once

#include <cstdint>

#include "policy/policy.hpp"

namespace paceline {

struct LasParameters {
  std::int64_t queues = 5;
  double threshold = 3600;
  double promote = 8;
};

// Errors: invalid.
Result<LasParameters> read_las(const Parameters& parameters);

class Las : public Policy {
 public:
  explicit Las(const LasParameters& parameters) : parameters_(parameters) {}
  static Result<std::unique_ptr<Policy>> make(const Parameters& parameters);

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Quiet quiet() const override { return {.as_planned = true}; }

 private:
  LasParameters parameters_;
};

}  // namespace paceline
