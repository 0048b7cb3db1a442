// Profiled jobs in a simulation.
#include "sim/truth/training.hpp"

#include <gtest/gtest.h>

#include "sim/cluster.hpp"
#include "sim/study/study_testing.hpp"
#include "sim/truth/training_testing.hpp"

namespace paceline::sim {
namespace {

using std::chrono::seconds;

TraceJob job_of(double submitted, std::int32_t slots, std::int64_t batch) {
  TraceJob job;
  job.name = "j";
  job.submitted = Time{} + from_seconds(submitted);
  job.slots = slots;
  job.application = "toy";
  job.batch_size = batch;
  return job;
}

struct Played {
  std::vector<TraceJob> jobs;
  BatchRule batch = BatchRule::fixed;
  std::string policy = "fifo";
  std::string elastic = {};
  std::string cluster = "2x4";
};

StudyPlan plan_of(const Played& played) {
  const auto profiles = std::make_shared<const Profiles>(Profiles{{"toy", toy()}});
  Trace trace;
  trace.has_durations = false;
  trace.jobs = played.jobs;
  StudyPlan plan;
  plan.setup.nodes = parse_cluster(played.cluster).value();
  plan.setup.policy = {played.policy, {}, {}};
  plan.setup.protects = false;
  plan.setup.costs = {Duration::zero(), Duration::zero()};
  EXPECT_TRUE(set_durations(trace, "t.csv", *profiles, 4).has_value());
  plan.trace = std::make_shared<const Trace>(std::move(trace));
  plan.setup.trainings = std::make_shared<const Trainings>(
      *plan.trace, profiles, TrainingOptions{played.batch, 4, slots_of(plan.setup.nodes)});
  if (!played.elastic.empty()) plan.workload.elastic = parse_elastic_rule(played.elastic).value();
  return plan;
}

Outcome play(const StudyPlan& plan) {
  const PolicyRegistry registry;
  const auto workload = make_workload(plan.trace, slots_of(plan.setup.nodes), plan.workload);
  auto outcome = simulate(workload, plan.setup, registry);
  EXPECT_TRUE(outcome.has_value());
  return std::move(*outcome);
}

double seconds_of(const JobOutcome& job) { return to_seconds(*job.ended - job.submitted); }

TEST(ProfiledJob, TakesItsTrainingTimeWhereItIsPacked) {
  const Outcome outcome = play(plan_of({.jobs = {job_of(0, 4, 40)}}));
  EXPECT_NEAR(seconds_of(outcome.jobs[0]), 100 / 1.6 + 100 * 13 / 40.0, 1e-5);
}

// Two jobs leave a slot on each of two nodes, so that the third's steps take 2 s + 0.5 s, not 2 s.
TEST(ProfiledJob, IsSlowerWhereItsGangIsSpread) {
  const auto plan = plan_of({.jobs = {job_of(0, 3, 80), job_of(0, 3, 80), job_of(0, 2, 40)}});
  const Outcome outcome = play(plan);
  const double alone = to_seconds(outcome.jobs[2].length);
  EXPECT_NEAR(seconds_of(outcome.jobs[2]), alone * 2.5 / 2, 1e-5);
  EXPECT_NEAR(seconds_of(outcome.jobs[0]), to_seconds(outcome.jobs[0].length), 1e-5);
}

// Alone on all eight slots it trains at the goodput of a batch of 80; with the other one from 30 s on
// at its wanted size.
TEST(ProfiledJob, GoesOnAtItsGoodputWhereverItIsResized) {
  const auto plan = plan_of({.jobs = {job_of(0, 4, 40), job_of(30, 4, 40)},
                             .batch = BatchRule::scaled,
                             .policy = "elastic-fifo",
                             .elastic = "min=1,max=2x"});
  const Outcome outcome = play(plan);
  const double length = to_seconds(outcome.jobs[0].length);
  const double done = 30 * (4 / 3.0 * 5 / 9);
  ASSERT_EQ(outcome.jobs[0].resizes, 1);
  EXPECT_NEAR(seconds_of(outcome.jobs[0]), 30 + length - done, 1e-4);
  // The second has four slots until then, and eight for the rest, all of it in the last stretch.
  const double shared = seconds_of(outcome.jobs[0]) - 30;
  EXPECT_NEAR(seconds_of(outcome.jobs[1]), shared + (length - shared) / (4 / 3.0 * 13 / 17), 1e-4);
}

TEST(ProfiledJob, CountsItsSlotsByItsOwnSpeedUp) {
  const auto plan = plan_of({.jobs = {job_of(0, 8, 40)}});
  const Measures measures = measure(play(plan), plan.setup.speedup, {});
  EXPECT_NEAR(measures.utilization, 1, 1e-6);
  EXPECT_NEAR(measures.useful_utilization, 4 / 8.0, 1e-6);
}

// srtf with the oracle: twice as many slots would not help this job, and it must know.
TEST(ProfiledJob, IsKnownToTheOracleByItsTrueSpeeds) {
  auto plan = plan_of({.jobs = {job_of(0, 4, 40)}, .policy = "afs", .elastic = "min=1,max=2x"});
  EXPECT_EQ(play(plan).jobs[0].resizes, 0);
  EXPECT_NEAR(play(plan).jobs[0].slot_seconds, 4 * 95, 1e-3);
  plan.setup.know = Know::none;
  EXPECT_GT(play(plan).jobs[0].slot_seconds, 6 * 95) << "it is given more for nothing";
}

TEST(ProfiledJob, WithoutAProfileOrABatchIsCounted) {
  Trace trace;
  trace.jobs = {job_of(0, 4, 40), job_of(0, 4, 0), job_of(0, 4, 40)};
  trace.jobs[2].application = "other";
  const auto profiles = std::make_shared<const Profiles>(Profiles{{"toy", toy()}});
  sim::Setup setup;
  EXPECT_EQ(speedup_text(setup), "linear");
  setup.speedup = Speedup::amdahl(0.05);
  setup.trainings =
      std::make_shared<const Trainings>(trace, profiles, TrainingOptions{BatchRule::fixed, 4, 8});
  EXPECT_NE(setup.trainings->of(0), nullptr);
  EXPECT_EQ(setup.trainings->of(1), nullptr);
  EXPECT_EQ(speedup_text(setup),
            "as profiled, batch fixed; 2 jobs without a profile or a batch: amdahl=0.05");
}

TEST(ProfiledJob, HasOneDigestOnAnyNumberOfThreads) {
  std::vector<TraceJob> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(job_of(i * 20, 1 + i % 6, 10 + 5 * (i % 7)));
  auto plan = plan_of({.jobs = jobs, .batch = BatchRule::scaled, .elastic = "min=1,max=2x"});
  plan.policies = {{"las", {}, {}}, {"afs", {}, {}}, {"elastic-fifo", {}, {}}};
  plan.seeds = {0, 1};
  const auto alone = digests_on(1, plan);
  EXPECT_EQ(digests_on(2, plan), alone);
  EXPECT_EQ(digests_on(4, plan), alone);
}

}  // namespace
}  // namespace paceline::sim
