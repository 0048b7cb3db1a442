#include "estimate/remaining.hpp"

#include <algorithm>

namespace paceline {

std::optional<Duration> remaining(const Job& job, Time now) {
  const Duration ran =
      job.ran + (job.state == JobState::running ? now - job.changed_at : Duration::zero());
  if (job.progress) {
    const auto ratio = job.progress->ratio(job.spec->expected_samples);
    if (ratio && *ratio > 0) return from_seconds(to_seconds(ran) * (1 - *ratio) / *ratio);
  }
  if (job.spec->expected_duration)
    return std::max(Duration::zero(), *job.spec->expected_duration - ran);
  return std::nullopt;
}

}  // namespace paceline
