// When jobs reach their time limit: a heap of candidate times, checked against the state when they come up, so that pauses and
// requeues need no bookkeeping.
#pragma once

#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "model/state.hpp"

namespace paceline {

class TimeLimits {
 public:
  // Called for every job touched.
  void watch(const Job& job);
  // Jobs over their limit at `now`; each is returned once per watch().
  std::vector<JobId> take_due(const State& state, Time now);
  [[nodiscard]] std::optional<Time> next() const;

 private:
  using Due = std::pair<Time, JobId>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

}  // namespace paceline
