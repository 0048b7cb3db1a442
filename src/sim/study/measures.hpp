// What a simulation comes to, in numbers.
//
//   JCT          end − submission
//   wait         time without all of its workers, starts again included
//   makespan     last end − first submission
//   time to target  first report that met it − submission
//   utilization  leased slot-seconds / slot-seconds of the cluster between these two
//   useful       the same with every worker weighed by its part of the speed-up: slots that count
//   fairness     rho = JCT / time on 1/N of the cluster, N the jobs in it, averaged over the job's
//                life (finish-time fairness, Themis NSDI'20); Jain's index over all rho
//
// Percentiles interpolate linearly between the nearest two jobs. Sums are exact in microseconds.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/study/simulation.hpp"

namespace paceline::sim {

struct Unfairness {
  double mean_rho = 0;
  double p99_rho = 0;
  double worst_rho = 0;
  double above_one = 0;  // part of the jobs that would have been done sooner on their own part
  double jain = 1;       // 1: all alike
};

struct Measures {
  std::size_t jobs = 0;    // counted below: completed, and neither warm-up nor cool-down
  double average_jct = 0;  // seconds, as all times here
  double median_jct = 0;
  double p99_jct = 0;
  double average_wait = 0;
  double makespan = 0;
  double utilization = 0;  // of all jobs, as the next four
  double useful_utilization = 0;
  std::int64_t resizes = 0;
  std::int64_t preemptions = 0;
  Losses lost;
  Unfairness unfairness;
  std::size_t reached = 0;            // of those counted, that met their target
  double average_time_to_target = 0;  // from their submission
  double median_time_to_target = 0;
  double p99_time_to_target = 0;
};

// Jobs that were submitted in the first `warmup` or the last `cooldown` of the submissions are left
// out of averages.
struct Window {
  Duration warmup{}, cooldown{};
};

// `speedup`: of jobs without one of their own.
Measures measure(const Outcome& outcome, const Speedup& speedup, const Window& window);

// The jobs that count for averages, in the order of submission.
std::vector<const JobOutcome*> counted_jobs(const Outcome& outcome, const Window& window);

// Of values in rising order; 0 of none. REQUIRES: 0 <= part <= 1.
double percentile(const std::vector<double>& rising, double part);

}  // namespace paceline::sim
