// When jobs reach a time limit. A job is watched anew whenever it changed, so that pauses and
// requeues need no bookkeeping; it is in here at most once.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"

namespace paceline {

class TimeLimits {
 public:
  // Called for every job touched. `at`: when it reaches its limit, if nothing changes.
  void watch(JobId job, std::optional<Time> at);
  // Jobs over their limit at `now`, in id order; each is returned once per watch().
  std::vector<JobId> take_due(Time now);
  [[nodiscard]] std::optional<Time> next() const;

 private:
  std::set<std::pair<Time, JobId>> due_;
  std::unordered_map<JobId, Time> watched_;
};

}  // namespace paceline
