#include "sim/study/measures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::sim {
namespace {

constexpr double kRounding = 1e-6;  // of a rho: ends are whole microseconds

// Jobs that are in the cluster, integrated over time: how many there were on average in a span.
class Crowd {
 public:
  explicit Crowd(const std::vector<JobOutcome>& jobs) {
    std::vector<std::pair<Time, int>> changes;
    for (const JobOutcome& job : jobs) {
      changes.emplace_back(job.submitted, 1);
      if (job.ended) changes.emplace_back(*job.ended, -1);
    }
    std::sort(changes.begin(), changes.end());
    double sum = 0;
    std::int64_t now = 0;
    Time before{};
    for (const auto& [at, change] : changes) {
      if (!points_.empty()) sum += to_seconds(at - before) * static_cast<double>(now);
      now += change;
      before = at;
      if (!points_.empty() && points_.back().at == at)
        points_.back() = {at, sum, now};
      else
        points_.push_back({at, sum, now});
    }
  }

  [[nodiscard]] double average(Time from, Time until) const {
    if (until <= from) return 1;
    return (until_then(until) - until_then(from)) / to_seconds(until - from);
  }

 private:
  struct Point {
    Time at;
    double sum;  // job-seconds before
    std::int64_t jobs;
  };

  [[nodiscard]] double until_then(Time at) const {
    const auto after = std::upper_bound(points_.begin(), points_.end(), at,
                                        [](Time t, const Point& point) { return t < point.at; });
    if (after == points_.begin()) return 0;
    const Point& point = after[-1];
    return point.sum + to_seconds(at - point.at) * static_cast<double>(point.jobs);
  }

  std::vector<Point> points_;
};

const Speedup& speedup_of(const JobOutcome& job, const Speedup& of_others) {
  return job.speedup != nullptr ? *job.speedup : of_others;
}

// How fast the job would be on so many slots, which need not be whole.
double speed_on(const Speedup& speedup, double slots) {
  const double whole = std::floor(slots);
  const auto below = static_cast<std::int32_t>(whole);
  return speedup.of(below) + (slots - whole) * (speedup.of(below + 1) - speedup.of(below));
}

// What speed-ups count in: profiles in slots, all others in workers.
std::int32_t unit_of(const JobOutcome& job) {
  return job.speedup != nullptr ? 1 : job.slots_per_worker;
}

double rho_of(const JobOutcome& job, std::int64_t slots, const Speedup& of_others,
              const Crowd& crowd) {
  const Speedup& speedup = speedup_of(job, of_others);
  const double life = to_seconds(*job.ended - job.submitted);
  const double part = static_cast<double>(slots) / crowd.average(job.submitted, *job.ended);
  const std::int32_t unit = unit_of(job);
  const double speed = speed_on(speedup, std::min(part, static_cast<double>(job.most)) / unit);
  return life / (to_seconds(job.length) * speedup.of(job.slots / unit) / speed);
}

Unfairness unfairness_of(const std::vector<const JobOutcome*>& counted, const Outcome& outcome,
                         const Speedup& speedup) {
  Unfairness unfairness;
  if (counted.empty()) return unfairness;
  const Crowd crowd(outcome.jobs);
  std::vector<double> rhos;
  rhos.reserve(counted.size());
  for (const JobOutcome* job : counted) rhos.push_back(rho_of(*job, outcome.slots, speedup, crowd));
  std::sort(rhos.begin(), rhos.end());
  const auto n = static_cast<double>(rhos.size());
  const double sum = std::accumulate(rhos.begin(), rhos.end(), 0.0);
  const double squares = std::inner_product(rhos.begin(), rhos.end(), rhos.begin(), 0.0);
  const auto above = rhos.end() - std::upper_bound(rhos.begin(), rhos.end(), 1 + kRounding);
  unfairness.mean_rho = sum / n;
  unfairness.p99_rho = percentile(rhos, 0.99);
  unfairness.worst_rho = rhos.back();
  unfairness.above_one = static_cast<double>(above) / n;
  unfairness.jain = sum * sum / (n * squares);
  return unfairness;
}

// Of whole microseconds, in seconds.
double mean_seconds(std::int64_t sum_us, std::size_t count) {
  if (count == 0) return 0;
  return static_cast<double>(static_cast<long double>(sum_us) /
                             (1'000'000.0L * static_cast<long double>(count)));
}

void measure_jobs(const std::vector<const JobOutcome*>& counted, Measures& measures) {
  std::vector<double> jcts, to_target;
  std::int64_t jct_us = 0, wait_us = 0, target_us = 0;
  for (const JobOutcome* job : counted) {
    const Duration jct = *job->ended - job->submitted;
    jcts.push_back(to_seconds(jct));
    jct_us += jct.count();
    wait_us += job->waited.count();
    if (!job->reached) continue;
    ++measures.reached;
    to_target.push_back(to_seconds(*job->reached - job->submitted));
    target_us += (*job->reached - job->submitted).count();
  }
  std::sort(jcts.begin(), jcts.end());
  std::sort(to_target.begin(), to_target.end());
  measures.jobs = counted.size();
  measures.average_jct = mean_seconds(jct_us, counted.size());
  measures.average_wait = mean_seconds(wait_us, counted.size());
  measures.average_time_to_target = mean_seconds(target_us, measures.reached);
  measures.median_time_to_target = percentile(to_target, 0.5);
  measures.p99_time_to_target = percentile(to_target, 0.99);
  measures.median_jct = percentile(jcts, 0.5);
  measures.p99_jct = percentile(jcts, 0.99);
}

void measure_cluster(const Outcome& outcome, const Speedup& speedup, Measures& measures) {
  if (outcome.jobs.empty()) return;
  Time last = outcome.jobs.front().submitted;
  double useful = 0;
  for (const JobOutcome& job : outcome.jobs) {
    if (job.ended) last = std::max(last, *job.ended);
    const std::int32_t unit = unit_of(job);
    if (job.completed)
      useful += to_seconds(job.length) * speedup_of(job, speedup).of(job.slots / unit) * unit;
    measures.resizes += job.resizes;
    measures.preemptions += job.preemptions;
  }
  measures.makespan = mean_seconds((last - outcome.jobs.front().submitted).count(), 1);
  const double available = measures.makespan * static_cast<double>(outcome.slots);
  if (available == 0) return;
  measures.utilization = outcome.leased / available;
  measures.useful_utilization = useful / available;
}

}  // namespace

double percentile(const std::vector<double>& rising, double part) {
  if (rising.empty()) return 0;
  const double at = part * static_cast<double>(rising.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, rising.size() - 1);
  return rising[below] + (at - static_cast<double>(below)) * (rising[above] - rising[below]);
}

std::vector<const JobOutcome*> counted_jobs(const Outcome& outcome, const Window& window) {
  std::vector<const JobOutcome*> counted;
  if (outcome.jobs.empty()) return counted;
  const Time from = outcome.jobs.front().submitted + window.warmup;
  const Time until = outcome.jobs.back().submitted - window.cooldown;
  for (const JobOutcome& job : outcome.jobs) {
    if (job.completed && job.submitted >= from && job.submitted <= until) counted.push_back(&job);
  }
  return counted;
}

Measures measure(const Outcome& outcome, const Speedup& speedup, const Window& window) {
  Measures measures;
  const auto counted = counted_jobs(outcome, window);
  measure_jobs(counted, measures);
  measure_cluster(outcome, speedup, measures);
  measures.lost = outcome.lost;
  measures.unfairness = unfairness_of(counted, outcome, speedup);
  return measures;
}

}  // namespace paceline::sim
