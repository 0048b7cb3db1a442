// las
// Objective:   short mean completion times where lengths are unknown.
// Rule:        jobs fall through queues by the slot-seconds they had: queue i + 1 begins at
//              threshold · 10^i. Higher queues go first; within a queue the job that started first,
//              then the job that came first. Down the line each job that fits has its slots; a
//              running job that doesn't fit is stopped for those that do. A job that fell, and then
//              waits `promote` times as long as its service took, counts its service anew: it is in
//              the first queue again. Sizes never change.
// Parameters:  queues=5 (1 to 16), threshold=3600 (slot-seconds), promote=8 (0: never).
// Assumptions: a stopped job goes on from its checkpoint. A job falls, or counts anew, at the
//              exact instant: the policy asks for a round then.
// Cost:        O(running · log running + started · log waiting) a round.
// Source:      Tiresias-L (NSDI'19), with the threshold and the promotion of Voda (2023), which has
//              two queues. Generalisations: priorities come before queues; queues by powers of ten
//              beyond two, five of them (docs/decisions/0029-five-queues.md).
// Needs:       nothing. The plan names the jobs that count anew (Plan::counted_anew); each job
//              remembers from where its service counts.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "model/waiting_order.hpp"
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
  static PolicyInfo info();
  static Result<std::unique_ptr<Policy>> make(const Parameters& parameters);

  void decide(const Snapshot& snapshot, Draft& draft) const override;
  [[nodiscard]] Quiet quiet() const override { return {.as_planned = true}; }

 private:
  LasParameters parameters_;
};

// What las and elastic-las go by: which queue a job is in, when it leaves it, and which waiting
// jobs count their service anew. The plan names those, and each counts from there
// (Job::service_from).
class AttainedService {
 public:
  AttainedService(const Snapshot& snapshot, Draft& draft, const LasParameters& parameters);

  // By queue, then first start, then arrival.
  [[nodiscard]] Order order() const;
  // Where the job stands now, what counts anew taken off.
  [[nodiscard]] std::int32_t queue(const Job& job) const;
  // Of waiting jobs whose place isn't told by order(): those that count anew from this round on.
  [[nodiscard]] const std::vector<OrderKey>& apart() const { return counted_anew_; }
  // Once the draft is done: asks for a round when the first job falls, of those that run and those
  // that it starts, or when the first of those that it stops counts anew.
  void revisit();

 private:
  [[nodiscard]] double attained(const Job& job) const;
  void count_anew();
  [[nodiscard]] double seconds_to_fall(double service, double slots) const;
  void revisit_counting_anew(const Job& stopped);
  [[nodiscard]] Time instant(double seconds) const;

  const Snapshot& snapshot_;
  Draft& draft_;
  LasParameters parameters_;
  std::vector<OrderKey> counted_anew_;
  std::unordered_set<JobId> is_counted_anew_;
};

}  // namespace paceline
