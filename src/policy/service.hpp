// Attained service for las and elastic-las: which queue a job is in, when it leaves it, and who is
// promoted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "model/waiting_order.hpp"
#include "plan/draft.hpp"
#include "policy/las.hpp"

namespace paceline {

class Service {
 public:
  Service(const Snapshot& snapshot, Draft& draft, const LasParameters& parameters);

  // Waiting jobs by queue, then first start, then arrival: as far as nobody was promoted.
  [[nodiscard]] Order order() const;
  // Where the job stands now, promotions counted.
  [[nodiscard]] OrderKey key(const Job& job) const;
  [[nodiscard]] std::int32_t queue(const Job& job) const;
  // Waiting jobs whose place isn't told by order(): they were promoted, or are by now.
  [[nodiscard]] const std::vector<const Job*>& apart() const { return apart_; }

  // After the decision: promoted jobs that start count anew, jobs that are over are forgotten, and
  // a round is asked for when the next one changes its queue.
  void remember();

 private:
  [[nodiscard]] double attained(const Job& job) const;
  void read_memo();
  void find_promoted();
  void promote(const Job& job);
  void revisit_demotions();
  [[nodiscard]] Time instant(double seconds) const;

  const Snapshot& snapshot_;
  Draft& draft_;
  LasParameters parameters_;
  std::map<JobId, double> base_;  // service that no longer counts
  std::vector<JobId> over_;
  std::vector<const Job*> apart_;
  std::vector<const Job*> promoted_;  // by now, not remembered yet
};

}  // namespace paceline
