// fifo
// Objective:   start jobs in arrival order; the head of the line blocks those behind it.
// Rule:        larger priority first, then the job that came first; each starts with the workers it
//              wants (`--slots 2..8@4`: 4). Sizes never change, no job is stopped.
// Parameters:  backfill=none    a job that can't start blocks all behind it;
//              backfill=greedy  each job that fits starts, in order: large jobs may wait for ever;
//              backfill=easy    the first that can't start has a reservation at the earliest time
//                               that predicted ends make room for it; others start if they end
//                               before, or need no more than is left over then.
// Assumptions: none; `easy` trusts predicted lengths, and a job of unknown length is taken to run
//              for ever. Predictions move, and with them the reservation: so it has patience, too.
// Cost:        O(started jobs · log nodes) a round; `easy` O(running · log running) besides.
// Source:      the FIFO of Schedulearn (2023), as meant: with a queue, and with slots leased; EASY
//              backfill of Lifka (1995).
// Needs:       nothing; `easy` lengths (--expect, progress, or history of the name).
#pragma once

#include "policy/policy.hpp"

namespace paceline {

class Fifo : public Policy {
 public:
  enum class Backfill { none, greedy, easy };
  explicit Fifo(Backfill backfill) : backfill_(backfill) {}
  static PolicyInfo info();
  static Result<std::unique_ptr<Policy>> make(const Parameters& parameters);

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Quiet quiet() const override { return {.as_planned = true}; }
  [[nodiscard]] bool keeps_line() const override { return backfill_ == Backfill::none; }

 private:
  Backfill backfill_;
};

}  // namespace paceline
