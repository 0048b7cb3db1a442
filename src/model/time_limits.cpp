#include "model/time_limits.hpp"

#include <algorithm>

namespace paceline {

void TimeLimits::watch(JobId job, std::optional<Time> at) {
  if (const auto known = watched_.find(job); known != watched_.end()) {
    due_.erase({known->second, job});
    watched_.erase(known);
  }
  if (!at) return;
  due_.emplace(*at, job);
  watched_.emplace(job, *at);
}

std::vector<JobId> TimeLimits::take_due(Time now) {
  std::vector<JobId> over;
  while (!due_.empty() && due_.begin()->first <= now) {
    over.push_back(due_.begin()->second);
    watched_.erase(over.back());
    due_.erase(due_.begin());
  }
  std::sort(over.begin(), over.end());
  return over;
}

std::optional<Time> TimeLimits::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

}  // namespace paceline
