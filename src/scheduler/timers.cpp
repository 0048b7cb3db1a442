#include "scheduler/timers.hpp"

#include <algorithm>

namespace paceline {
namespace {

bool counts(const Job& job) {
  return job.state == JobState::running || job.state == JobState::resizing;
}

std::optional<Time> limit(const Job& job) {
  if (!job.spec->max_duration || !counts(job)) return std::nullopt;
  return job.changed_at + std::max(Duration::zero(), *job.spec->max_duration - job.ran);
}

}  // namespace

void TimeLimits::watch(const Job& job) {
  if (const auto at = limit(job)) due_.emplace(*at, job.id);
}

std::vector<JobId> TimeLimits::take_due(const State& state, Time now) {
  std::vector<JobId> over;
  while (!due_.empty() && due_.top().first <= now) {
    const JobId id = due_.top().second;
    due_.pop();
    const auto at = limit(state.job(id));
    if (at && *at <= now) over.push_back(id);
  }
  std::sort(over.begin(), over.end());
  over.erase(std::unique(over.begin(), over.end()), over.end());
  return over;
}

std::optional<Time> TimeLimits::next() const {
  if (due_.empty()) return std::nullopt;
  return due_.top().first;
}

}  // namespace paceline
