// Attained service for las and elastic-las: which queue a job is in, when it leaves it, and who is
// promoted. A promotion becomes part of the plan, and the job counts from there (Job::service_from).
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "model/waiting_order.hpp"
#include "plan/draft.hpp"
#include "policy/las.hpp"
#include "policy/shares.hpp"

namespace paceline {

class Service {
 public:
  Service(const Snapshot& snapshot, Draft& draft, const LasParameters& parameters);

  // Waiting jobs by queue, then first start, then arrival.
  [[nodiscard]] Order order() const;
  // The keys of running jobs in that order.
  [[nodiscard]] RunningKeys running() const;
  // Where the job stands now, promotions counted.
  [[nodiscard]] std::int32_t queue(const Job& job) const;
  // Of waiting jobs whose place isn't told by order(): those that this round promotes.
  [[nodiscard]] const std::vector<OrderKey>& apart() const { return promoted_; }
  // Once the draft is done: asks for a round when the first job falls, of those that run and those
  // that it starts, or when the first of those that it stops is promoted.
  void revisit();

 private:
  [[nodiscard]] double attained(const Job& job) const;
  void promote();
  [[nodiscard]] double seconds_to_fall(double service, double slots) const;
  void revisit_promotion(const Job& stopped);
  [[nodiscard]] Time instant(double seconds) const;

  const Snapshot& snapshot_;
  Draft& draft_;
  LasParameters parameters_;
  std::vector<OrderKey> promoted_;
  std::unordered_set<JobId> is_promoted_;
};

}  // namespace paceline
