// Several policies on the same jobs, with several seeds: simulated side by side on the cores there
// are, and compared seed by seed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clock/clock.hpp"
#include "sim/study/measures.hpp"
#include "sim/study/run_details.hpp"
#include "sim/study/simulation.hpp"

namespace paceline::sim {

struct StudyPlan {
  std::shared_ptr<const Trace> trace;
  std::vector<PolicyChoice> policies;
  std::vector<std::uint64_t> seeds;
  WorkloadOptions workload;  // of every seed
  Setup setup;               // of every policy
  Window window;
  unsigned threads = 1;       // runs at a time, at most; 0: one per core
  bool keep_jobs = false;     // what became of each of them
  bool keep_details = false;  // and, where the setup says so, the occupancy: of the first seed
};

struct StudyRun {
  std::size_t policy = 0;  // of the plan's
  std::uint64_t seed = 0;
  Measures measures;
  Outcome outcome;  // without its jobs, unless they are kept
  std::size_t rejected = 0;
  double wall_seconds = 0;
  std::optional<RunDetails> details;
};

// How a policy compares with the first one in one measure: the mean over the seeds of what the one
// has over what the other has, and between what bounds it lies with a chance of 95 in 100.
struct Comparison {
  std::size_t policy = 0;
  std::string measure;  // its key in a run's JSON
  double ratio = 1;
  std::optional<double> low, high;  // nothing of a single seed
};

struct Study {
  std::vector<StudyRun> runs;  // by policy, then seed
  std::vector<Comparison> comparisons;
};

// Called from several threads, one at a time, with the done part of all runs; false: give up.
using StudyWatch = std::function<bool(double done)>;

// `clock` tells what a run takes. REQUIRES: at least one policy and one seed. Errors: those of
// simulate().
Result<Study> run_study(const StudyPlan& plan, const PolicyRegistry& registry, Clock& clock,
                        const StudyWatch& watch);

// The bounds of the mean of `values`, resampled with replacement.
std::pair<double, double> bootstrap_mean(const std::vector<double>& values, std::uint64_t seed);

}  // namespace paceline::sim
