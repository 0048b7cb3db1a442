// Rounds of every built-in policy on a full cluster that it has run for a while, with as many jobs
// waiting as run: where nothing has changed, and where before each of them a job ended and another
// came. For ffdl nobody waits: what is left over the smallest sizes is what it shares out.
// $PACELINE_BENCH_ROUNDS: how many (300; 30 of ffdl).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "gpu_node.hpp"
#include "placement/pack.hpp"
#include "plan/apply.hpp"
#include "policy/registry.hpp"

namespace {

using namespace paceline;

constexpr int kRoundsMax = 8;

class Cluster {
 public:
  // Each job may have from `smallest` workers, or what it wants if that is less, to twice that.
  Cluster(std::int64_t slots, std::int64_t running, std::int64_t waiting, std::int32_t smallest)
      : smallest_(smallest) {
    for (std::int64_t i = 0; i < slots / kSlotsPerNode; ++i) tell(gpu_node(i));
    tell(PolicySet{"sjf", {}});
    for (std::int64_t i = 0; i < running; ++i) submit(static_cast<std::int32_t>(slots / running));
    start_all();
    now_ += std::chrono::minutes{5};
    for (std::int64_t i = 0; i < waiting; ++i) submit(1 + static_cast<std::int32_t>(rng_.below(4)));
  }

  [[nodiscard]] Snapshot snapshot() const { return {state_, now_}; }

  // Until the policy has nothing to change: a cluster that it has run for a while.
  void run_until_quiet(const Policy& policy) {
    for (int i = 0; i < kRoundsMax && play(policy); ++i) now_ += std::chrono::seconds{30};
  }

  void one_ends_one_comes() {
    const JobId job = state_.active().begin()->job;
    const auto generation = state_.job(job).current->generation;
    for (std::int32_t rank = 0; state_.job(job).current; ++rank)
      tell(WorkerEnded{{job, generation, rank}, {Cause::exited, 0, 0, "", now_}});
    submit(1);
  }

 private:
  void submit(std::int32_t workers) {
    JobSpec spec;
    spec.name = "train";
    spec.user = fmt::format("user-{}", rng_.below(50));
    spec.workers = {std::min(workers, smallest_), 2 * workers, workers};
    spec.elastic = Elastic::restart;
    spec.expected_duration = std::chrono::seconds{rng_.between(60, 100'000)};
    if (rng_.chance(0.1))
      spec.deadline =
          WallTime{now_.time_since_epoch()} + std::chrono::seconds{rng_.between(60, 200'000)};
    tell(JobSubmitted{state_.next_job_id(), spec});
  }

  void start_all() { play(**PolicyRegistry().make("sjf", {})); }

  // A round, and everybody obeys it. Returns whether anything changed.
  bool play(const Policy& policy) {
    const PackPlacer placer;
    Plan plan;
    {
      Draft draft(snapshot(), placer, Protects::yes);
      policy.decide(snapshot(), draft);
      plan = draft.plan();
    }
    tell(plan);
    for (const Change& change : plan.changes) kill_if_told(change.job);
    for (const Change& change : plan.changes) {
      const auto& gang = state_.job(change.job).current;
      for (std::int32_t rank = 0; gang && rank < gang->size(); ++rank)
        tell(WorkerStarted{{change.job, gang->generation, rank}, 1});
    }
    return !plan.changes.empty();
  }

  void kill_if_told(JobId job) {
    if (!state_.job(job).current || !state_.job(job).current->stop) return;
    const auto generation = state_.job(job).current->generation;
    const auto workers = state_.job(job).current->size();
    const Cause cause = state_.job(job).current->stop->cause;
    for (std::int32_t rank = 0; rank < workers; ++rank)
      tell(WorkerEnded{{job, generation, rank}, {cause, {}, 9, "", now_}});
  }

  void tell(std::variant<Event, Plan> body) {
    apply(state_, {state_.seq() + 1, now_, std::move(body)});
  }

  std::int32_t smallest_;
  State state_;
  Time now_ = time_from_us(1'000'000'000);
  Rng rng_{1};
};

// One round that is thrown away; the orders a policy asks for stay with the state. What
// `script/bench --instructions` counts.
[[gnu::noinline]] void measured_round(const Cluster& cluster, const Policy& policy) {
  const PackPlacer placer;
  Draft draft(cluster.snapshot(), placer, Protects::yes);
  policy.decide(cluster.snapshot(), draft);
  benchmark::DoNotOptimize(draft.plan());
}

void policy_round(benchmark::State& bench, const std::string& name, std::int64_t slots,
                  std::int64_t jobs, bool changed) {
  const bool shares_out = name == "ffdl";
  Cluster cluster(slots, jobs, shares_out ? 0 : jobs, shares_out ? 1 : kWorkersMax);
  const auto policy = PolicyRegistry().make(name, {}).value();
  cluster.run_until_quiet(*policy);
  std::vector<double> milliseconds;
  for (auto _ : bench) {
    if (changed) {
      cluster.run_until_quiet(*policy);
      cluster.one_ends_one_comes();
    }
    const auto began = std::chrono::steady_clock::now();
    measured_round(cluster, *policy);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    bench.SetIterationTime(took.count());
    milliseconds.push_back(1e3 * took.count());
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  bench.counters["p99_ms"] = milliseconds[(milliseconds.size() - 1) * 99 / 100];
}

std::int64_t rounds_of(const std::string& name) {
  const char* wanted = std::getenv("PACELINE_BENCH_ROUNDS");
  if (wanted != nullptr) return std::max(1L, std::strtol(wanted, nullptr, 10));
  return name == "ffdl" ? 30 : 300;
}

void add(const std::string& name, std::int64_t slots, std::int64_t jobs) {
  for (const bool changed : {false, true}) {
    const auto title =
        fmt::format("policy_{}_{}_slots_{}", name, slots, changed ? "changed" : "steady");
    benchmark::RegisterBenchmark(
        title.c_str(),
        [=](benchmark::State& bench) { policy_round(bench, name, slots, jobs, changed); })
        ->Unit(benchmark::kMillisecond)
        ->UseManualTime()
        ->Iterations(rounds_of(name));
  }
}

const bool kAdded = [] {
  const PolicyRegistry registry;
  for (const PolicyInfo& info : registry.all()) {
    const std::string name(info.name);
    if (name == "ffdl") {
      add(name, 1'024, 512);
      continue;
    }
    add(name, 10'000, 10'000);
    add(name, 100'000, 10'000);
  }
  return true;
}();

}  // namespace
