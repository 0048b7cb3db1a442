#include "model/running_table.hpp"

#include <algorithm>

#include "model/job.hpp"

namespace paceline {
namespace {

// A gang that is on its way counts as running already: else shares would change twice with every
// start, and jobs take turns.
bool runs_or_will(const Job& job) {
  const bool goes_on = job.lends() && job.forming;
  return job.state == JobState::running || job.state == JobState::starting ||
         job.state == JobState::resizing || goes_on;
}

}  // namespace

std::optional<RunningTable::Row> RunningTable::row_of(const Order& order, const Job& job) {
  const std::int32_t workers = job.planned_workers();
  if (!runs_or_will(job) || !job.range.contains(workers)) return std::nullopt;
  OrderKey key = order_key(order, job);
  if (order.counts) key.measure = order.measure(job, order.parameters);
  const double slope = order.slope ? order.slope(job) : 0;
  return Row{.job = &job,
             .key = key,
             .slope = slope,
             .as_of = job.changed_at,
             .workers = workers,
             .slots = job.slots(workers),
             .range = job.range,
             .step = job.spec->mesh.step(),
             .slots_per_worker = job.spec->slots_per_worker,
             .preemptible = job.preemptible(),
             .resizable = job.resizable()};
}

void RunningTable::put(const Job& job) {
  const auto row = row_of(order_, job);
  if (!row) return drop(job.id);
  const auto [place, fresh] = places_.try_emplace(job.id, rows_.size());
  if (fresh) {
    sequence_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back();
  }
  rows_[place->second] = *row;
}

void RunningTable::drop(JobId job) {
  const auto place = places_.find(job);
  if (place == places_.end()) return;
  const std::size_t at = place->second;
  places_.erase(place);
  std::erase(sequence_, static_cast<std::uint32_t>(at));
  if (at + 1 < rows_.size()) {
    std::replace(sequence_.begin(), sequence_.end(), static_cast<std::uint32_t>(rows_.size() - 1),
                 static_cast<std::uint32_t>(at));
    rows_[at] = rows_.back();
    places_[rows_[at].job->id] = at;
  }
  rows_.pop_back();
}

}  // namespace paceline
