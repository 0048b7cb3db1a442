#include "sim/study/simulation.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/rng.hpp"
#include "sim/cluster.hpp"
#include "sim/study/study_testing.hpp"

namespace paceline::sim {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

std::shared_ptr<const Trace> trace_of(const std::vector<std::array<double, 3>>& rows) {
  auto trace = std::make_shared<Trace>();
  for (const auto& [submitted, duration, slots] : rows) {
    TraceJob job;
    job.name = "job-" + std::to_string(trace->jobs.size());
    job.submitted = Time{} + from_seconds(submitted);
    job.duration = from_seconds(duration);
    job.slots = static_cast<std::int32_t>(slots);
    trace->jobs.push_back(job);
  }
  return trace;
}

Setup exact(const std::string& cluster, PolicyChoice policy) {
  Setup setup;
  setup.nodes = *parse_cluster(cluster);
  setup.policy = std::move(policy);
  setup.policy.parameters.emplace("patience", "off");  // unless the test says otherwise
  setup.placement = "any";
  setup.protects = false;
  setup.costs = {Duration::zero(), Duration::zero()};
  return setup;
}

std::int64_t slots_in(const Setup& setup) {
  std::int64_t slots = 0;
  for (const NodeSpec& node : setup.nodes) slots += static_cast<std::int64_t>(node.slots.size());
  return slots;
}

Outcome play(const std::shared_ptr<const Trace>& trace, const Setup& setup,
             const WorkloadOptions& options = {}) {
  const PolicyRegistry registry;
  const Workload workload = make_workload(trace, slots_in(setup), options);
  auto outcome = simulate(workload, setup, registry);
  EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
  return outcome ? std::move(*outcome) : Outcome{};
}

TEST(Simulation, WhoIsFrozenGoesOnAtOnceAndLosesNothing) {
  auto trace = std::make_shared<Trace>(*trace_of({{0, 100, 1}, {50, 10, 1}}));
  JobSpec spec;
  spec.workers = {1, 1, 1};
  spec.memory_bytes = 1 << 30;
  spec.name = "fit";
  spec.user = "ann";
  for (TraceJob& job : trace->jobs) job.spec = std::make_shared<const JobSpec>(spec);
  auto setup = exact("1x1", {"srtf", {}, {}});
  setup.costs.restart = seconds{30};
  const auto end = [&] { return to_seconds(*play(trace, setup).jobs[0].ended - Time{}); };
  EXPECT_DOUBLE_EQ(end(), 100 + 10 + 30) << "stopped on a GPU";
  setup.nodes[0].memory_bytes = std::uint64_t{4} << 30;
  setup.nodes[0].slots[0].kind = SlotKind::cpu;
  EXPECT_DOUBLE_EQ(end(), 100 + 10);
  const Outcome outcome = play(trace, setup);
  EXPECT_EQ(outcome.jobs[0].preemptions, 1);
  EXPECT_DOUBLE_EQ(outcome.lost.preemption, 0);
  EXPECT_EQ(outcome.jobs[0].waited, seconds{10});
}

// ---- the exact semantics, written down once more, without any of the scheduler's code ----

class BruteForce {
 public:
  BruteForce(const Trace& trace, std::int64_t slots, std::string policy)
      : policy_(std::move(policy)), free_(slots) {
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      const TraceJob& job = trace.jobs[i];
      if (job.slots > slots) continue;
      jobs_.push_back({to_us(job.submitted), job.duration.count(), job.slots, i, {}, {}});
    }
    std::stable_sort(jobs_.begin(), jobs_.end(),
                     [](const auto& a, const auto& b) { return a.submitted < b.submitted; });
    for (auto& job : jobs_) job.left = job.length;
  }

  // First start and end of each job, by its place in the trace.
  std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> run() {
    while (const auto now = next()) {
      pass_to(*now);
      for (Job& job : jobs_) {
        if (job.runs && job.left == 0) finish(job);
      }
      round();
    }
    std::map<std::size_t, std::pair<std::int64_t, std::int64_t>> times;
    for (const Job& job : jobs_) times[job.place] = {*job.started, *job.ended};
    return times;
  }

 private:
  struct Job {
    std::int64_t submitted, length;
    std::int64_t slots;
    std::size_t place;
    std::optional<std::int64_t> started, ended;
    std::int64_t left = 0;
    bool runs = false;
  };

  std::optional<std::int64_t> next() const {
    std::optional<std::int64_t> next;
    for (const Job& job : jobs_) {
      std::optional<std::int64_t> at;
      if (job.runs) at = now_ + job.left;
      if (!job.runs && !job.ended && job.submitted > now_) at = job.submitted;
      if (at && (!next || *at < *next)) next = at;
    }
    return next;
  }

  void pass_to(std::int64_t now) {
    for (Job& job : jobs_) {
      if (job.runs) job.left -= now - now_;
    }
    now_ = now;
  }

  void finish(Job& job) {
    job.runs = false;
    job.ended = now_;
    free_ += job.slots;
  }

  void start(Job& job) {
    job.runs = true;
    if (!job.started) job.started = now_;
    free_ -= job.slots;
  }

  void round() {
    std::vector<Job*> line;
    for (Job& job : jobs_) {
      const bool running = job.runs && policy_ == "srtf";
      if ((!job.runs || running) && !job.ended && job.submitted <= now_) line.push_back(&job);
    }
    if (policy_ == "sjf" || policy_ == "srtf")
      std::stable_sort(line.begin(), line.end(),
                       [](auto* a, auto* b) { return a->left < b->left; });
    if (policy_ != "srtf") {
      for (Job* job : line) {
        if (job->slots <= free_)
          start(*job);
        else if (policy_ == "fifo")
          return;
      }
      return;
    }
    for (Job* job : line) {
      if (std::exchange(job->runs, false)) free_ += job->slots;
    }
    for (Job* job : line) {
      if (job->slots <= free_) start(*job);
    }
  }

  std::string policy_;
  std::int64_t free_;
  std::int64_t now_ = -1;
  std::vector<Job> jobs_;
};

std::shared_ptr<const Trace> random_trace(std::uint64_t seed) {
  constexpr std::array kDurations = {1.0, 2.0, 3.0, 5.0, 7.25, 10.0, 40.0, 0.5, 100.0, 100.000001};
  Rng rng(seed);
  std::vector<std::array<double, 3>> rows;
  const auto jobs = 20 + rng.below(100);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    const double submitted = static_cast<double>(rng.below(2 * jobs));
    const double duration = rng.chance(0.5) ? kDurations[rng.below(kDurations.size())]
                                            : static_cast<double>(1 + rng.below(300));
    const auto slots = rng.chance(0.6) ? 1 + rng.below(3) : 1 + rng.below(20);
    rows.push_back({submitted, duration, static_cast<double>(slots)});
  }
  return trace_of(rows);
}

struct ExactPolicy {
  std::string rule;  // as the brute force calls it
  PolicyChoice choice;
};

class ExactSemantics : public ::testing::TestWithParam<ExactPolicy> {};

TEST_P(ExactSemantics, AreThoseOfAnIndependentBruteForce) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto trace = random_trace(seed);
    const Outcome outcome = play(trace, exact("4x4", GetParam().choice));
    const auto expected = BruteForce(*trace, 16, GetParam().rule).run();
    ASSERT_EQ(outcome.jobs.size(), expected.size()) << "seed " << seed;
    for (const JobOutcome& job : outcome.jobs) {
      const auto& [started, ended] = expected.at(job.job);
      ASSERT_EQ(to_us(*job.started), started) << "seed " << seed << ", job " << job.job;
      ASSERT_EQ(to_us(*job.ended), ended) << "seed " << seed << ", job " << job.job;
      ASSERT_EQ(job.waited, *job.ended - job.submitted - job.length) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, ExactSemantics,
    ::testing::Values(ExactPolicy{"fifo", {"fifo", {}, {}}},
                      ExactPolicy{"greedy", {"fifo", {{"backfill", "greedy"}}, {}}},
                      ExactPolicy{"sjf", {"sjf", {}, {}}}, ExactPolicy{"srtf", {"srtf", {}, {}}}),
    [](const auto& tested) { return tested.param.rule; });

// ---- nobody starves ----

// A job as wide as the machine, in a stream of small ones that keeps it busy for days.
std::shared_ptr<const Trace> stream() {
  std::vector<std::array<double, 3>> rows{{10, 3600, 8}};
  for (double at = 0; at < 3 * 86'400; at += 440) rows.push_back({at, 3600, 1});
  return trace_of(rows);
}

// The same, and each of the small ones may have up to four slots.
std::shared_ptr<const Trace> elastic_stream() {
  auto trace = std::make_shared<Trace>(*stream());
  JobSpec spec;
  spec.workers = {1, 4, 1};
  spec.elastic = Elastic::restart;
  spec.name = "train";
  const auto small = std::make_shared<const JobSpec>(spec);
  for (TraceJob& job : trace->jobs) {
    if (job.slots == 1) job.spec = small;
  }
  return trace;
}

double hours_waited(const PolicyChoice& choice, Know know,
                    const std::shared_ptr<const Trace>& trace = stream()) {
  Setup setup;
  setup.nodes = *parse_cluster("1x8");
  setup.policy = choice;
  setup.know = know;
  for (const JobOutcome& job : play(trace, setup).jobs) {
    if (job.slots == 8) return to_seconds(*job.started - job.submitted) / 3600;
  }
  return 0;
}

std::vector<PolicyChoice> every_policy() {
  std::vector<PolicyChoice> choices{{"fifo", {{"backfill", "greedy"}}, {}},
                                    {"fifo", {{"backfill", "easy"}}, {}}};
  const PolicyRegistry registry;
  for (const PolicyInfo& info : registry.all()) choices.push_back({std::string(info.name), {}, {}});
  return choices;
}

TEST(Starvation, AWideJobStartsOnceItsPatienceIsOverAndThoseWhoRanThenAre) {
  for (const PolicyChoice& choice : every_policy()) {
    for (const Know know : {Know::oracle, Know::none})
      EXPECT_LE(hours_waited(choice, know), 0.5 + 1 + 0.05) << choice.text();
  }
}

TEST(Starvation, WithoutPatienceItWaitsForAsLongAsOthersCome) {
  for (const std::string name : {"elastic-fifo", "las"})
    EXPECT_GT(hours_waited({name, {{"patience", "off"}}, {}}, Know::none), 60) << name;
  EXPECT_GT(hours_waited({"elastic-fifo", {{"patience", "off"}}, {}}, Know::none, elastic_stream()),
            60);
}

TEST(Starvation, AWideJobStartsInAStreamOfElasticJobsToo) {
  const PolicyRegistry registry;
  for (const PolicyInfo& info : registry.all()) {
    if (!info.elastic) continue;
    for (const Know know : {Know::oracle, Know::none})
      EXPECT_LE(hours_waited({std::string(info.name), {}, {}}, know, elastic_stream()),
                0.5 + 1 + 0.05)
          << info.name;
  }
}

TEST(Simulation, WhoNeverSavedIsAskedForAsLongAsIsSaid) {
  auto trace = std::make_shared<Trace>(*trace_of({{0, 1000, 1}, {10, 5, 1}}));
  JobSpec spec;
  spec.workers = {1, 1, 1};
  spec.name = "train";
  spec.user = "ann";
  for (TraceJob& job : trace->jobs) job.spec = std::make_shared<const JobSpec>(spec);
  auto setup = exact("1x1", {"srtf", {}, {}});
  EXPECT_EQ(play(trace, setup).jobs[1].started, Time{} + seconds{10});
  setup.reclaim_after = seconds{100};
  EXPECT_EQ(play(trace, setup).jobs[1].started, Time{} + seconds{110});
}

// ---- costs, failures, sizes ----

TEST(Simulation, AStoppedJobPaysForStartingAgain) {
  auto setup = exact("1x4", {"srtf", {}, {}});
  setup.costs = {seconds{30}, seconds{1}};
  const Outcome outcome = play(trace_of({{0, 1000, 4}, {100, 50, 4}}), setup);
  EXPECT_EQ(*outcome.jobs[1].ended, Time{} + seconds{150});
  EXPECT_EQ(*outcome.jobs[0].ended, Time{} + seconds{1000 + 50 + 30});
  EXPECT_EQ(outcome.jobs[0].preemptions, 1);
  EXPECT_DOUBLE_EQ(outcome.lost.preemption, 4 * 30);
}

TEST(Simulation, AnElasticJobTakesWhatIsFreeAndPaysForEachResize) {
  auto setup = exact("1x4", {"elastic-fifo", {}, {}});
  setup.costs = {seconds{30}, seconds{1}};
  WorkloadOptions options;
  options.elastic = *parse_elastic_rule("min=1,max=2x");
  // Alone it runs on four slots, twice as fast; when the other comes they share.
  const Outcome outcome = play(trace_of({{0, 1000, 2}, {100, 1000, 2}}), setup, options);
  EXPECT_EQ(*outcome.jobs[0].started, Time{});
  EXPECT_EQ(outcome.jobs[0].resizes, 1);
  EXPECT_EQ(*outcome.jobs[0].ended, Time{} + seconds{100 + 1 + 800});
  EXPECT_GT(outcome.lost.resize, 0);
  EXPECT_EQ(outcome.unfinished, 0U);
}

// Its first save makes a script that says nothing of itself resizable, whoever is protected.
TEST(Simulation, AJobOfASpecIsResizedOnceItSaved) {
  auto trace = std::make_shared<Trace>(*trace_of({{0, 100'000, 1}, {7'200, 1'000, 1}}));
  JobSpec spec;
  spec.workers = {1, 4, 1};
  spec.name = "train";
  for (TraceJob& job : trace->jobs) job.spec = std::make_shared<const JobSpec>(spec);
  auto setup = exact("1x4", {"elastic-fifo", {}, {}});
  for (const bool protects : {true, false}) {
    setup.protects = protects;
    EXPECT_EQ(*play(trace, setup).jobs[1].started, Time{} + seconds{7'200}) << protects;
  }
}

TEST(Simulation, FailuresCostWorkAndJobsStillEnd) {
  auto setup = exact("4x4", {"fifo", {}, {}});
  setup.costs = {seconds{30}, seconds{1}};
  setup.failures_per_slot_hour = 0.2;
  const auto trace = trace_of({{0, 36'000, 4}, {10, 36'000, 2}, {20, 7'200, 8}});
  const Outcome outcome = play(trace, setup);
  EXPECT_GT(outcome.lost.failure, 0);
  for (const JobOutcome& job : outcome.jobs) {
    EXPECT_TRUE(job.completed);
    EXPECT_GT(*job.ended - job.submitted, job.length);
  }
  setup.seed = 1;
  EXPECT_NE(play(trace, setup).digest, outcome.digest);
}

TEST(Simulation, FailuresThatAreNeverDueHurtNobody) {
  auto setup = exact("1x4", {"fifo", {}, {}});
  setup.failures_per_slot_hour = 1e-11;
  const Outcome outcome = play(trace_of({{0, 100, 4}}), setup);
  EXPECT_EQ(*outcome.jobs[0].ended, Time{} + seconds{100});
  EXPECT_DOUBLE_EQ(outcome.lost.failure, 0);
}

TEST(Simulation, WhatPoliciesDoNotKnowDoesNotOrderJobs) {
  const auto trace = trace_of({{0, 100, 4}, {1, 1000, 4}, {2, 10, 4}});
  auto setup = exact("1x4", {"sjf", {}, {}});
  EXPECT_EQ(*play(trace, setup).jobs[2].started, Time{} + seconds{100});
  setup.know = Know::none;
  EXPECT_EQ(*play(trace, setup).jobs[2].started, Time{} + seconds{1100});
}

// Four busy days, whose jobs the trace calls by few names, or each by its own.
std::shared_ptr<const Trace> busy_days(int names) {
  Rng rng(5);
  std::vector<std::array<double, 3>> rows;
  for (int day = 0; day < 4; ++day) {
    for (int i = 0; i < 40; ++i)
      rows.push_back({day * 86'400.0 + i * 60, 60.0 + static_cast<double>(rng.below(600)), 4});
  }
  auto trace = std::make_shared<Trace>(*trace_of(rows));
  for (std::size_t i = 0; i < trace->jobs.size(); ++i)
    trace->jobs[i].name = std::to_string(i % static_cast<std::size_t>(names));
  return trace;
}

// A day may be drawn twice: its jobs tell nothing of each other.
TEST(Simulation, WhatPoliciesDoNotKnowTheyDoNotLearnFromTheSameLine) {
  auto sjf = exact("1x4", {"sjf", {}, {}});
  auto greedy = exact("1x4", {"fifo", {{"backfill", "greedy"}}, {}});
  sjf.know = greedy.know = Know::none;
  for (const int names : {3, 160}) {
    WorkloadOptions options;
    for (options.seed = 0; options.seed < 4; ++options.seed) {
      EXPECT_EQ(play(busy_days(names), sjf, options).digest,
                play(busy_days(names), greedy, options).digest)
          << names << " names, seed " << options.seed;
    }
  }
}

TEST(Simulation, LengthsAreLearnedByApplicationNotByTheNameOfALine) {
  const auto trace = std::make_shared<Trace>(
      *trace_of({{0, 10, 4}, {20, 1000, 4}, {2000, 1000, 4}, {2001, 1000, 4}, {2002, 10, 4}}));
  for (TraceJob& job : trace->jobs) job.name = job.duration > seconds{10} ? "long" : "short";
  auto setup = exact("1x4", {"sjf", {}, {}});
  setup.know = Know::estimate;
  EXPECT_EQ(*play(trace, setup).jobs[4].started, Time{} + seconds{4000});
  for (TraceJob& job : trace->jobs) job.application = job.name;
  EXPECT_EQ(*play(trace, setup).jobs[4].started, Time{} + seconds{3000});
}

// ---- what lines ask for ----

TEST(Simulation, AJobWaitsForALineWithoutASpec) {
  auto trace = std::make_shared<Trace>(*trace_of({{0, 1000, 1}, {1, 10, 1}}));
  for (std::size_t i = 0; i < 2; ++i) trace->jobs[i].line = static_cast<std::int64_t>(i) + 2;
  JobSpec spec;
  spec.workers = {1, 1, 1};
  spec.name = "b";
  spec.after = {JobId{2}};
  trace->jobs[1].spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(*play(trace, exact("1x4", {"fifo", {}, {}})).jobs[1].started, Time{} + seconds{1000});
}

TEST(Simulation, OneSeedGivesOneDigestOnAnyNumberOfThreads) {
  StudyPlan plan;
  plan.trace = random_trace(7);
  plan.policies = {{"fifo", {}, {}}, {"srtf", {}, {}}, {"elastic-fifo", {}, {}}, {"las", {}, {}}};
  plan.seeds = {0, 1};
  plan.setup = exact("4x4", {});
  const auto alone = digests_on(1, plan);
  EXPECT_EQ(digests_on(2, plan), alone);
  EXPECT_EQ(digests_on(8, plan), alone);
  EXPECT_NE(alone[0], alone[2]);
}

TEST(Simulation, CanBeGivenUp) {
  const PolicyRegistry registry;
  std::vector<std::array<double, 3>> rows(2'000, {0, 1, 1});
  const auto setup = exact("1x4", {"fifo", {}, {}});
  const auto outcome = simulate(make_workload(trace_of(rows), 4, {}), setup, registry,
                                [](std::size_t over) { return over < 500; });
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::unavailable);
}

TEST(Simulation, NothingToDoIsDoneAtOnce) {
  const Outcome outcome = play(trace_of({}), exact("1x4", {"fifo", {}, {}}));
  EXPECT_TRUE(outcome.jobs.empty());
}

// ---- learning ----

TEST(Learning, EndsAJobWhereItMeetsItsTarget) {
  auto setup = exact("1x4", {"fifo", {}, {}});
  setup.learning = parse_learning("exp=3").value();
  WorkloadOptions options;
  options.reach = TargetPart{0.6, 0.6};
  const Outcome outcome = play(trace_of({{0, 100, 4}, {10, 50, 4}}), setup, options);
  ASSERT_EQ(outcome.jobs.size(), 2U);
  EXPECT_EQ(*outcome.jobs[0].ended, Time{} + seconds{60});
  EXPECT_EQ(*outcome.jobs[1].ended, Time{} + seconds{90});
  for (const JobOutcome& job : outcome.jobs) {
    EXPECT_TRUE(job.completed);
    EXPECT_EQ(job.reached, job.ended);
  }
  const Measures measures = measure(outcome, setup.speedup, {});
  EXPECT_EQ(measures.reached, 2U);
  EXPECT_DOUBLE_EQ(measures.average_time_to_target, 70);
  EXPECT_DOUBLE_EQ(measures.median_time_to_target, 70) << "between 60 and 80";
  EXPECT_DOUBLE_EQ(measures.p99_time_to_target, 79.8);
}

TEST(Learning, GoesOnWhereAJobWasStopped) {
  auto setup = exact("1x4", {"srtf", {}, {}});
  setup.learning = parse_learning("table=0:0.1,0.5:0.8,1:0.9").value();
  WorkloadOptions options;
  options.reach = TargetPart{0.5, 0.5};
  const Outcome outcome = play(trace_of({{0, 100, 4}, {10, 20, 4}}), setup, options);
  EXPECT_EQ(*outcome.jobs[1].reached, Time{} + seconds{20});
  EXPECT_EQ(*outcome.jobs[0].reached, Time{} + seconds{60});
  EXPECT_EQ(outcome.jobs[0].preemptions, 1);
}

TEST(Learning, IsTheSameForEveryPolicyAndDrawnAnewForEverySeed) {
  std::vector<std::array<double, 3>> rows;
  for (int i = 0; i < 50; ++i) rows.push_back({i * 1000.0, 1000, 1});
  WorkloadOptions options;
  options.reach = TargetPart{0.2, 0.9};
  std::set<double> reaches;
  for (const Arrival& arrival : make_workload(trace_of(rows), 4, options).arrivals) {
    EXPECT_GE(arrival.reach, 0.2);
    EXPECT_LE(arrival.reach, 0.9);
    EXPECT_EQ(arrival.length, Duration{static_cast<std::int64_t>(std::ceil(1e9 * arrival.reach))});
    reaches.insert(arrival.reach);
  }
  EXPECT_GT(reaches.size(), 40U);
  options.seed = 1;
  const auto other = make_workload(trace_of(rows), 4, options);
  EXPECT_FALSE(reaches.contains(other.arrivals.front().reach));
}

// Two jobs of 100 s, one on each node; and one over both, which is as fast as the slower.
TEST(DeviceSpeeds, AGangIsAsFastAsItsSlowestDevice) {
  auto trace = std::make_shared<Trace>();
  for (const auto& [at, slots] : {std::pair{0, 2}, {0, 2}, {1000, 4}}) {
    TraceJob job;
    job.name = "job-" + std::to_string(trace->jobs.size());
    job.submitted = Time{} + std::chrono::seconds{at};
    job.duration = std::chrono::seconds{100};
    job.slots = slots;
    trace->jobs.push_back(job);
  }
  sim::Setup setup;
  setup.nodes = *parse_cluster("1x2:A100;1x2:V100");
  setup.policy.name = "fifo";
  setup.costs = {Duration::zero(), Duration::zero()};
  setup.devices = std::make_shared<const DeviceSpeeds>(
      *DeviceSpeeds::of_words("A100=2,V100=0.5", models_of(setup.nodes)));
  const auto outcome = simulate(make_workload(trace, 4, {}), setup, PolicyRegistry{});
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto took = [&](std::size_t i) {
    return to_seconds(*outcome->jobs[i].ended - *outcome->jobs[i].started);
  };
  EXPECT_DOUBLE_EQ(std::min(took(0), took(1)), 50);
  EXPECT_DOUBLE_EQ(std::max(took(0), took(1)), 200);
  EXPECT_DOUBLE_EQ(took(2), 200);
}

}  // namespace
}  // namespace paceline::sim
