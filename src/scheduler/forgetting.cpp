#include "scheduler/forgetting.hpp"

#include <algorithm>

namespace paceline {
namespace {

// Those that are old are forgotten together, not one by one as each of them grows old.
constexpr Duration kTogether = std::chrono::minutes{1};

}  // namespace

void Forgetting::follow(const State& state, std::span<const JobId> touched) {
  for (const JobId id : touched) {
    const Job* job = state.find_job(id);
    if (!job || !is_over(job->state) || !ended_.emplace(id, *job->ended_at).second) continue;
    over_.emplace(*job->ended_at, id);
  }
}

void Forgetting::forgot(std::span<const JobId> jobs, Time now) {
  for (const JobId id : jobs) {
    const auto known = ended_.find(id);
    if (known == ended_.end()) continue;
    over_.erase({known->second, id});
    ended_.erase(known);
  }
  forgot_at_ = now;
}

std::vector<JobId> Forgetting::due(Time now) const {
  std::vector<JobId> jobs;
  const bool old = !over_.empty() && next_old() <= now;
  std::size_t surplus = too_many() ? over_.size() - bounds_.jobs : 0;
  for (const auto& [ended, id] : over_) {
    if (jobs.size() == kAtOnce) break;
    if (surplus > 0)
      --surplus;
    else if (!old || ended + bounds_.age > now)
      break;
    jobs.push_back(id);
  }
  std::ranges::sort(jobs);
  return jobs;
}

std::optional<Time> Forgetting::next() const {
  if (over_.empty()) return std::nullopt;
  return too_many() ? over_.begin()->first : next_old();
}

Time Forgetting::next_old() const {
  const Time old = over_.begin()->first + bounds_.age;
  return forgot_at_ ? std::max(old, *forgot_at_ + std::min(kTogether, bounds_.age / 10)) : old;
}

}  // namespace paceline
