#include "sim/study/study_testing.hpp"

#include <gmock/gmock.h>

#include "sim/cluster.hpp"
#include "sim/study/policy_list.hpp"

namespace paceline::sim {
namespace {

using std::chrono::seconds;

JobOutcome job(int submitted, int ended, std::int32_t slots = 1, int length = 10) {
  JobOutcome outcome;
  outcome.slots = outcome.most = slots;
  outcome.length = seconds{length};
  outcome.submitted = Time{} + seconds{submitted};
  outcome.started = outcome.submitted;
  outcome.ended = Time{} + seconds{ended};
  outcome.waited = *outcome.ended - outcome.submitted - outcome.length;
  outcome.slot_seconds = slots * length;
  outcome.completed = true;
  return outcome;
}

Outcome outcome_of(std::vector<JobOutcome> jobs, std::int64_t slots) {
  Outcome outcome;
  outcome.jobs = std::move(jobs);
  outcome.slots = slots;
  for (const JobOutcome& one : outcome.jobs) outcome.leased += one.slot_seconds;
  return outcome;
}

TEST(Measures, AreWhatTheirDefinitionsSay) {
  const Measures m = measure(outcome_of({job(0, 10), job(0, 20), job(5, 35), job(10, 50)}, 2),
                             Speedup::linear(), {});
  EXPECT_EQ(m.jobs, 4U);
  EXPECT_DOUBLE_EQ(m.average_jct, (10 + 20 + 30 + 40) / 4.0);
  EXPECT_DOUBLE_EQ(m.average_wait, (0 + 10 + 20 + 30) / 4.0);
  EXPECT_DOUBLE_EQ(m.median_jct, 25);
  EXPECT_DOUBLE_EQ(m.p99_jct, 30 + 0.97 * 10);
  EXPECT_DOUBLE_EQ(m.makespan, 50);
  EXPECT_DOUBLE_EQ(m.utilization, 40.0 / 100);
  EXPECT_DOUBLE_EQ(m.useful_utilization, 40.0 / 100);
}

TEST(Measures, FairnessComparesWithAPartOfTheClusterOfOnesOwn) {
  // Two jobs that share two slots for all their life, one slot each: as if alone on its half.
  const Measures fair = measure(outcome_of({job(0, 10), job(0, 10)}, 2), Speedup::linear(), {});
  EXPECT_DOUBLE_EQ(fair.unfairness.mean_rho, 1);
  EXPECT_DOUBLE_EQ(fair.unfairness.above_one, 0);
  EXPECT_DOUBLE_EQ(fair.unfairness.jain, 1);
  // One after the other on the only slot: alone on half of it the first would take 20.
  const Measures one = measure(outcome_of({job(0, 10), job(0, 20)}, 1), Speedup::linear(), {});
  EXPECT_DOUBLE_EQ(one.unfairness.worst_rho, 20 / (10 * 1.5));
  EXPECT_DOUBLE_EQ(one.unfairness.above_one, 0.5);
  EXPECT_LT(one.unfairness.jain, 1);
}

TEST(Measures, AJobThatNobodyDisturbedIsNotUnfair) {
  auto alone = job(0, 10);
  *alone.ended += Duration{1};  // ends are whole microseconds
  const Measures m = measure(outcome_of({alone}, 4), Speedup::linear(), {});
  EXPECT_DOUBLE_EQ(m.unfairness.above_one, 0);
}

// Two workers of four slots; on sixteen slots it has four.
TEST(Measures, SpeedupsAreOfWorkers) {
  const auto speedup = Speedup::amdahl(0.5);
  auto alone = job(0, 10, 8, 12);  // twelve seconds on two workers are ten on four
  alone.slots_per_worker = 4;
  alone.most = 16;
  const Measures m = measure(outcome_of({alone}, 16), speedup, {});
  EXPECT_DOUBLE_EQ(m.unfairness.mean_rho, 1);
  EXPECT_DOUBLE_EQ(m.useful_utilization, 12 * speedup.of(2) * 4 / (10 * 16));
}

TEST(Measures, WarmUpAndCoolDownAreLeftOut) {
  const auto outcome = outcome_of({job(0, 10), job(100, 140), job(200, 270)}, 4);
  EXPECT_DOUBLE_EQ(measure(outcome, Speedup::linear(), {seconds{50}, {}}).average_jct, 55);
  EXPECT_DOUBLE_EQ(measure(outcome, Speedup::linear(), {{}, seconds{50}}).average_jct, 25);
  const Measures none = measure(outcome, Speedup::linear(), {seconds{1000}, {}});
  EXPECT_EQ(none.jobs, 0U);
  EXPECT_DOUBLE_EQ(none.average_jct, 0);
}

TEST(Measures, OfNothingAreNothing) {
  const Measures m = measure({}, Speedup::linear(), {});
  EXPECT_EQ(m.jobs, 0U);
  EXPECT_DOUBLE_EQ(m.utilization, 0);
}

TEST(Bootstrap, BoundsTheMean) {
  const auto [low, high] = bootstrap_mean({1, 2, 3, 4, 5}, 1);
  EXPECT_LT(low, 3);
  EXPECT_GT(high, 3);
  EXPECT_GE(low, 1);
  EXPECT_LE(high, 5);
  EXPECT_EQ(bootstrap_mean({2, 2, 2}, 1), (std::pair{2.0, 2.0}));
}

TEST(Study, ComparesEveryPolicyWithTheFirst) {
  const PolicyRegistry registry;
  auto trace = std::make_shared<Trace>();
  for (int i = 0; i < 200; ++i) {
    TraceJob one;
    one.name = std::to_string(i);
    one.submitted = Time{} + seconds{i * 3'000};
    one.duration = seconds{i % 7 == 0 ? 40'000 : 900};
    one.slots = 4;
    trace->jobs.push_back(one);
  }
  StudyPlan plan;
  plan.trace = trace;
  plan.policies = {{"fifo", {}, {}}, {"srtf", {}, {}}};
  plan.seeds = {0, 1, 2, 3};
  plan.setup.nodes = *parse_cluster("1x4");
  plan.threads = 2;
  StillClock clock;
  double done = 0;
  const auto study = run_study(plan, registry, clock, [&](double part) {
    EXPECT_GE(part, done);
    done = part;
    return true;
  });
  ASSERT_TRUE(study);
  ASSERT_EQ(study->runs.size(), 8U);
  EXPECT_EQ(study->runs[5].policy, 1U);
  EXPECT_EQ(study->runs[5].seed, 1U);
  EXPECT_TRUE(study->runs[5].outcome.jobs.empty());
  ASSERT_EQ(study->comparisons.size(), 4U);
  const Comparison& jct = study->comparisons.front();
  EXPECT_EQ(jct.measure, "average_jct_seconds");
  EXPECT_LT(jct.ratio, 1);
  EXPECT_LE(*jct.low, jct.ratio);
  EXPECT_GE(*jct.high, jct.ratio);
}

TEST(PolicyList, NamesPoliciesWithTheirParameters) {
  const PolicyRegistry registry;
  const auto no_file = [](const std::string& path) -> Result<std::string> {
    return fail(ErrorCode::not_found, "There is no " + path, "");
  };
  const auto list =
      parse_policies("fifo,fifo(backfill=greedy),las(queues=2,threshold=3600)", registry, no_file);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 3U);
  EXPECT_EQ((*list)[1].text(), "fifo(backfill=greedy)");
  EXPECT_EQ((*list)[2].parameters.at("threshold"), "3600");
  EXPECT_EQ((*list)[2].text(), "las(queues=2,threshold=3600)");
  EXPECT_EQ(parse_policies("fair(weights=ann:2,bob:0.5),fifo", registry, no_file)->at(0).text(),
            "fair(weights=ann:2,bob:0.5)");
  for (const char* wrong : {"", "fifo,", "fifo,,las", "nofo", "fifo(", "fifo(backfill)", "fifo()x",
                            "fifo(backfill=greedy,backfill=none)", "las(queues=0)", "mine.lua"})
    EXPECT_FALSE(parse_policies(wrong, registry, no_file)) << wrong;
}

}  // namespace
}  // namespace paceline::sim
