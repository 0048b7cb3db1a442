// Attained service for las and elastic-las: which queue a job is in, when it leaves it, and which
// waiting jobs count their service anew. The plan names those, and each counts from there
// (Job::service_from).
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "model/waiting_order.hpp"
#include "plan/draft.hpp"
#include "policy/las.hpp"
#include "policy/shares.hpp"

namespace paceline {

class AttainedService {
 public:
  AttainedService(const Snapshot& snapshot, Draft& draft, const LasParameters& parameters);

  // Waiting jobs by queue, then first start, then arrival.
  [[nodiscard]] Order order() const;
  // The keys of running jobs in that order.
  [[nodiscard]] RunningKeys running() const;
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
