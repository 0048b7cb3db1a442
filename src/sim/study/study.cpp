#include "sim/study/study.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "sim/cluster.hpp"
#include "sim/side_by_side.hpp"

namespace paceline::sim {
namespace {

constexpr int kResamples = 2'000;
constexpr double kTail = 0.025;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class Runner {
 public:
  Runner(const StudyPlan& plan, const PolicyRegistry& registry, Clock& clock,
         const StudyWatch& watch)
      : plan_(plan), registry_(registry), clock_(clock), watch_(watch) {
    for (const std::uint64_t seed : plan.seeds) {
      WorkloadOptions options = plan.workload;
      options.seed = seed;
      workloads_.push_back(make_workload(plan.trace, slots_of(plan.setup.nodes), options));
      jobs_ += workloads_.back().arrivals.size() * plan.policies.size();
    }
    runs_.resize(plan.policies.size() * plan.seeds.size());
  }

  Result<std::vector<StudyRun>> run() {
    side_by_side(runs_.size(), plan_.threads, [this](std::size_t index) {
      if (auto ok = run_one(index); !ok) give_up(ok.error());
      return !stop_;
    });
    if (error_) return fail(*error_);
    return std::move(runs_);
  }

 private:
  Result<void> run_one(std::size_t index) {
    StudyRun& run = runs_[index];
    const std::size_t seed = index % plan_.seeds.size();
    run.policy = index / plan_.seeds.size();
    run.seed = plan_.seeds[seed];
    run.rejected = workloads_[seed].rejected;
    Setup setup = plan_.setup;
    setup.policy = plan_.policies[run.policy];
    setup.seed = run.seed;
    setup.keep_occupancy = setup.keep_occupancy && seed == 0;
    std::size_t told = 0;
    const Time began = clock_.now();
    auto outcome = simulate(workloads_[seed], setup, registry_, [&](std::size_t over) {
      const std::size_t more = over - std::exchange(told, over);
      return tell(more);
    });
    if (!outcome) return fail(outcome.error());
    run.wall_seconds = to_seconds(clock_.now() - began);
    run.outcome = std::move(*outcome);
    run.measures = measure(run.outcome, setup.speedup, plan_.window);
    if (plan_.keep_details && seed == 0) run.details = details_of(run.outcome, plan_.window);
    if (!plan_.keep_jobs) run.outcome.jobs = {};
    return {};
  }

  bool tell(std::size_t more) {
    const std::scoped_lock lock(mutex_);
    over_ += more;
    if (!stop_ && watch_ && !watch_(static_cast<double>(over_) / static_cast<double>(jobs_)))
      stop_ = true;
    return !stop_;
  }

  void give_up(const Error& error) {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
    if (!error_) error_ = error;
  }

  const StudyPlan& plan_;
  const PolicyRegistry& registry_;
  Clock& clock_;
  const StudyWatch& watch_;
  std::vector<Workload> workloads_;  // by seed
  std::vector<StudyRun> runs_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::size_t jobs_ = 0, over_ = 0;
  std::optional<Error> error_;
};

struct Measure {
  const char* key;
  double (*of)(const Measures&);
};
constexpr Measure kCompared[] = {
    {"average_jct_seconds", [](const Measures& m) { return m.average_jct; }},
    {"average_wait_seconds", [](const Measures& m) { return m.average_wait; }},
    {"p99_jct_seconds", [](const Measures& m) { return m.p99_jct; }},
    {"makespan_seconds", [](const Measures& m) { return m.makespan; }},
};

std::optional<Comparison> compare(const StudyPlan& plan, const std::vector<StudyRun>& runs,
                                  std::size_t policy, const Measure& measure) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < plan.seeds.size(); ++i) {
    const double first = measure.of(runs[i].measures);
    if (first <= 0) return std::nullopt;
    ratios.push_back(measure.of(runs[policy * plan.seeds.size() + i].measures) / first);
  }
  Comparison comparison{policy, measure.key, mean(ratios), {}, {}};
  if (ratios.size() > 1)
    std::tie(comparison.low, comparison.high) = bootstrap_mean(ratios, plan.seeds.front());
  return comparison;
}

}  // namespace

std::pair<double, double> bootstrap_mean(const std::vector<double>& values, std::uint64_t seed) {
  check(!values.empty(), "there is something to resample");
  Rng rng(seed);
  std::vector<double> means;
  for (int i = 0; i < kResamples; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < values.size(); ++j) sum += values[rng.below(values.size())];
    means.push_back(sum / static_cast<double>(values.size()));
  }
  std::sort(means.begin(), means.end());
  return {percentile(means, kTail), percentile(means, 1 - kTail)};
}

Result<Study> run_study(const StudyPlan& plan, const PolicyRegistry& registry, Clock& clock,
                        const StudyWatch& watch) {
  check(!plan.policies.empty() && !plan.seeds.empty(), "a study has a policy and a seed");
  auto runs = Runner(plan, registry, clock, watch).run();
  if (!runs) return fail(runs.error());
  Study study{std::move(*runs), {}};
  for (std::size_t policy = 1; policy < plan.policies.size(); ++policy) {
    for (const Measure& measure : kCompared) {
      if (auto comparison = compare(plan, study.runs, policy, measure))
        study.comparisons.push_back(std::move(*comparison));
    }
  }
  return study;
}

}  // namespace paceline::sim
