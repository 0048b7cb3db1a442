// What is still to be done until a gang is as the state wants it. Engines, forecasts and the worlds of
// tests follow this one rule; what a job's pause freezes is no part of it.
#pragma once

#include <optional>

#include "model/job.hpp"

namespace paceline {

enum class Unmet { start, end };

// Of a rank of its current gang. Nothing: the worker is as wanted.
inline std::optional<Unmet> unmet(const Job& job, std::int32_t rank) {
  const Gang& gang = *job.current;
  const Worker& worker = gang.workers[static_cast<std::size_t>(rank)];
  if (!gang.stop)
    return worker.state == WorkerState::assigned ? std::optional(Unmet::start) : std::nullopt;
  const bool stays = worker.state == WorkerState::ended || job.goes_on(rank);
  return stays ? std::nullopt : std::optional(Unmet::end);
}

// Of any.
inline std::optional<Unmet> unmet(const Job& job) {
  for (std::int32_t rank = 0; rank < job.current->size(); ++rank) {
    if (const auto left = unmet(job, rank)) return left;
  }
  return std::nullopt;
}

}  // namespace paceline
