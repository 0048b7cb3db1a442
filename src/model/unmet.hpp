// What is still to be done until a gang is as the state wants it. Engines, forecasts and the worlds of
// tests follow this one rule; what a job's pause freezes is no part of it.
#pragma once

#include <optional>

#include "model/state.hpp"

namespace paceline {

enum class Unmet {
  start,
  ready,  // it runs, and is to be ready to join the gang that forms
  end
};

// Of a rank of its current gang. Nothing: the worker is as wanted.
inline std::optional<Unmet> unmet(const Job& job, std::int32_t rank) {
  const Gang& gang = *job.current;
  const Worker& worker = gang.workers[static_cast<std::size_t>(rank)];
  if (!gang.stop)
    return worker.state == WorkerState::assigned ? std::optional(Unmet::start) : std::nullopt;
  return worker.state == WorkerState::ended ? std::nullopt : std::optional(Unmet::end);
}

// Of any.
inline std::optional<Unmet> unmet(const Job& job) {
  for (std::int32_t rank = 0; rank < job.current->size(); ++rank) {
    if (const auto left = unmet(job, rank)) return left;
  }
  return std::nullopt;
}

// Of a process that is to join the gang that forms in place. Nothing: it is as wanted, or waits for
// its slots.
inline std::optional<Unmet> unmet_of_newcomer(const State& state, const Job& job,
                                              std::int32_t rank) {
  const Worker& worker = job.forming->workers[static_cast<std::size_t>(rank)];
  if (worker.state == WorkerState::ended || worker.ready) return std::nullopt;
  if (worker.state == WorkerState::running) return Unmet::ready;
  const bool may_start = state.has_seat(job.forming->process(job.id, rank), worker.seat);
  return may_start ? std::optional(Unmet::start) : std::nullopt;
}

// Of all its processes: visit(process, what, stop), where `stop` is of one that is to end.
template <class Visit>
void each_unmet(const State& state, const Job& job, Visit visit) {
  if (!job.current) return;
  for (std::int32_t rank = 0; rank < job.current->size(); ++rank) {
    const Stop* stop = job.current->stop ? &*job.current->stop : nullptr;
    if (const auto left = unmet(job, rank)) visit(job.current->process(job.id, rank), *left, stop);
  }
  for (std::int32_t rank = 0; job.forms_in_place() && rank < job.forming->size(); ++rank) {
    const auto left = job.joins(rank) ? unmet_of_newcomer(state, job, rank) : std::nullopt;
    if (left) visit(job.forming->process(job.id, rank), *left, nullptr);
  }
  for (const Parting& each : job.parting) visit(each.process, Unmet::end, &each.stop);
}

// Is it to say that its current gang stands?
inline bool is_to_stand(const Job& job) {
  return job.state == JobState::resizing && job.current && job.current->in_place &&
         !job.current->waits && !job.current->stop;
}

}  // namespace paceline
