// What would happen to a job, and to the others, if it were submitted now: plays the present with
// and without it, and with it changed. Nothing is submitted.
//
//   const Ahead ahead = look_ahead({parts, now, policy, placer, protects, clock}, spec);
//   ahead.expected.start->at
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "forecast/expected.hpp"
#include "policy/policy.hpp"
#include "scheduler/preview.hpp"
#include "scheduler/what_if.hpp"

namespace paceline {

// Another job that would start later, or end later, likely by so much.
struct Delayed {
  JobId job;
  bool starts = true;
  Duration by{};
  friend bool operator==(const Delayed&, const Delayed&) = default;
};

// A job that would wait in line before it, and why.
struct JobAhead {
  JobId job;
  Reason waits;  // as others may read it
};

struct Ahead {
  Time as_of;
  JobExpected expected;
  std::optional<Reason> waits;          // why it would wait; nothing: it starts
  std::optional<std::size_t> position;  // in line, from 1; nothing: it starts, or is held
  std::vector<JobAhead> jobs_ahead;     // in line before it: the first, at most kJobsAheadMax
  std::vector<WhatIf> changes;          // each would start it sooner
  std::vector<Effect> effects;   // what the next round would do to running jobs, for its start
  std::vector<Delayed> delayed;  // the longest first, at most kDelayedMax
  std::size_t other_delayed = 0;
};

inline constexpr std::size_t kDelayedMax = 20;
inline constexpr std::size_t kJobsAheadMax = 5;
inline constexpr Duration kAheadBudget = std::chrono::seconds{1};  // and kWhatIfBudget

struct Lookout {
  StateParts parts;
  Time now;
  const Policy& policy;
  const Placer& placer;
  Protects protects;
  std::function<Time()> clock;  // for the budget
};

// REQUIRES: the spec was admitted (scheduler/commands.hpp).
Ahead look_ahead(Lookout lookout, const JobSpec& spec);

}  // namespace paceline
