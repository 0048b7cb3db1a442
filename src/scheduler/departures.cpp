#include "scheduler/departures.hpp"

#include <algorithm>
#include <variant>

namespace paceline {
namespace {

bool is_last(const Gang& gang) {
  const auto alive = std::ranges::count_if(
      gang.workers, [](const Worker& worker) { return worker.state != WorkerState::ended; });
  return alive == 1;
}

}  // namespace

void Departures::follow(const State& state, const Event& event, Time at) {
  const auto* ended = std::get_if<WorkerEnded>(&event);
  const Job* job = ended != nullptr ? state.find_job(ended->worker.job) : nullptr;
  if (job == nullptr || !job->current || !job->current->stop) return;
  const Gang& gang = *job->current;
  const bool told = gang.stop->cause == Cause::preempted || gang.stop->cause == Cause::resized;
  if (!told || !is_last(gang) || !gang.rank_of(ended->worker)) return;
  const bool saved = job->checkpoint && job->checkpoint->acknowledged_at >= gang.stop->at;
  const Duration takes = std::max(Duration{}, at - ended->unseen - gang.stop->at);
  known_.insert_or_assign(job->id, Departure{takes, saved});
  if (known_.size() <= kJobsMax) return;
  std::erase_if(known_, [&](const auto& each) {
    const Job* known = state.find_job(each.first);
    return known == nullptr || is_over(known->state);
  });
  if (known_.size() > kJobsMax) known_.erase(known_.begin());
}

std::optional<Departure> Departures::of(JobId job) const {
  const auto found = known_.find(job);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace paceline
