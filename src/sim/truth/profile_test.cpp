#include "sim/truth/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace paceline::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

using GangShape = std::vector<std::int32_t>;

// One node: 1 s a step for a local batch of 10, 2 s for 20, as many replicas as it has. Four nodes:
// three times as long, half of it to synchronise. Two batches of 10 and 40 were validated, in two
// points each.
Profile toy_profile() {
  Profile profile;
  profile.application = "toy";
  for (const std::int32_t replicas : {1, 4})
    profile.scales[1][replicas] = {{10, {1, 0}}, {20, {2, 0}}};
  for (const std::int32_t replicas : {4, 16})
    profile.scales[4][replicas] = {{10, {3, 1.5}}, {20, {6, 3}}};
  profile.placements[{1, 3}] = {{10, {7, 1}}};
  profile.validations[10] = {{100, 100, 0.5, 1, 1}, {200, 200, 0.9, 1, 9}};
  profile.validations[40] = {{101, 41, 0.5, 1, 3}, {201, 55, 0.9, 1, 15}};
  return profile;
}

double seconds_at(GangScale scale, std::int64_t local_batch) {
  return step_time(toy_profile(), scale, local_batch).seconds;
}

double step_seconds(const GangShape& gang, std::int64_t local_batch) {
  return step_time(toy_profile(), gang, local_batch).seconds;
}

TEST(StepTime, IsAsMeasured) {
  EXPECT_EQ(seconds_at({.nodes = 1, .replicas = 4}, 10), 1);
  EXPECT_EQ(seconds_at({.nodes = 4, .replicas = 16}, 20), 6);
  EXPECT_EQ(step_time(toy_profile(), GangScale{4, 4}, 10).sync_seconds, 1.5);
}

TEST(StepTime, PrefersTheGangThatWasMeasured) {
  EXPECT_EQ(step_seconds(GangShape{3, 1}, 10), 7) << "in any order";
  EXPECT_EQ(step_seconds(GangShape{4}, 10), 1);
  EXPECT_EQ(step_seconds(GangShape{2, 2}, 10), 1 + 2.0 / 3) << "between one node and four";
}

TEST(StepTime, IsLinearInBetween) {
  EXPECT_EQ(seconds_at({.nodes = 1, .replicas = 2}, 15), 1.5);
  EXPECT_EQ(seconds_at({.nodes = 2, .replicas = 8}, 10), 1 + 2.0 / 3);
  EXPECT_EQ(seconds_at({.nodes = 4, .replicas = 10}, 15), 4.5);
}

TEST(StepTime, IsFlatBeyondWithoutAFit) {
  EXPECT_EQ(seconds_at({.nodes = 1, .replicas = 8}, 10), 1);
  EXPECT_EQ(seconds_at({.nodes = 100, .replicas = 100}, 10), 3);
  EXPECT_EQ(seconds_at({.nodes = 1, .replicas = 1}, 1), 1);
}

// T = 1 + 0.1 m + 2 (K - 2) on several nodes, 0.5 (K - 2) on one, one after the other.
TEST(StepTime, FollowsTheFitBeyond) {
  Profile profile = toy_profile();
  profile.fit = StepFit{{1, 0.1}, {0, 0.5}, {0, 2}, 1};
  const auto seconds_at = [&](GangScale scale, std::int64_t local_batch) {
    return step_time(profile, scale, local_batch).seconds;
  };
  EXPECT_EQ(seconds_at({.nodes = 4, .replicas = 10}, 15), 4.5) << "within, as without a fit";
  EXPECT_EQ(seconds_at({.nodes = 4, .replicas = 16}, 10), 3);
  EXPECT_DOUBLE_EQ(seconds_at({.nodes = 8, .replicas = 32}, 10), 3 * (2 + 60) / (2 + 28.0));
  EXPECT_DOUBLE_EQ(seconds_at({.nodes = 1, .replicas = 8}, 10), 1 * (2 + 3) / (2 + 1.0));
  EXPECT_DOUBLE_EQ(seconds_at({.nodes = 1, .replicas = 1}, 5), 1 * 1.5 / 2);
  EXPECT_DOUBLE_EQ(step_time(profile, GangShape{1, 3}, 5).seconds, 7 * (1.5 + 4) / (2 + 4));
  EXPECT_DOUBLE_EQ(step_time(profile, GangScale{8, 32}, 10).sync_seconds, 1.5 * 62 / 30);
}

TEST(StepTime, SplitsALargeBatchIntoPasses) {
  EXPECT_EQ(seconds_at({.nodes = 1, .replicas = 1}, 40), 4) << "twice 20";
  EXPECT_EQ(seconds_at({.nodes = 4, .replicas = 4}, 40), 6 + 3) << "the first pass needs no sync";
  EXPECT_EQ(seconds_at({.nodes = 1, .replicas = 1}, 21), 2.2) << "twice 11";
}

TEST(Packed, FillsNodes) {
  EXPECT_THAT(packed(1, 4), ElementsAre(1));
  EXPECT_THAT(packed(4, 4), ElementsAre(4));
  EXPECT_THAT(packed(10, 4), ElementsAre(4, 4, 2));
}

// At batch 20, before 100: μ² = 1, σ² = 1 + 10/30 · 2 = 5/3 and M₀ = 10, so φ = 50/3 and
// (φ + 10) / (φ + 20) = 80/110. Between 100 and 101 the larger batch's first point still holds.
TEST(Efficiency, IsPolluxs) {
  EXPECT_EQ(reference_batch(toy_profile()), 10);
  EXPECT_EQ(efficiency(toy_profile(), 10, 0), 1);
  EXPECT_THAT(efficiency(toy_profile(), 20, 0), DoubleNear(8.0 / 11, 1e-12));
  EXPECT_EQ(efficiency(toy_profile(), 40, 0), 4.0 / 7);
  EXPECT_EQ(efficiency(toy_profile(), 40, 101), 16.0 / 19);
  EXPECT_EQ(efficiency(toy_profile(), 40, 1e9), 16.0 / 19) << "flat beyond the last point";
  EXPECT_EQ(efficiency(toy_profile(), 80, 0), 4.0 / 11) << "with the gradient of the largest batch";
  EXPECT_EQ(efficiency(toy_profile(), 5, 0), 1) << "a smaller batch is not worth more";
}

TEST(Efficiency, OfAGradientWithoutDirectionIsWhole) {
  Profile profile = toy_profile();
  profile.validations[10] = profile.validations[40] = {{100, 100, 0.5, 0, 1}};
  EXPECT_EQ(efficiency(profile, 40, 0), 1);
  profile.validations[10] = profile.validations[40] = {{100, 100, 0.5, 0, 0}};
  EXPECT_EQ(efficiency(profile, 40, 0), 1);
}

TEST(TrainingTime, IsStepsTimesTheirTime) {
  EXPECT_EQ(last_progress(toy_profile()), 200);
  EXPECT_EQ(samples_per_second(toy_profile(), GangShape{1}, 10), 10);
  EXPECT_EQ(progress_per_second(toy_profile(), GangShape{1}, 10, 0), 1);
  EXPECT_EQ(training_time(toy_profile(), GangShape{1}, 10), 200s) << "200 steps of 1 s";
}

// Batch 40 on {4}: 1 s a step. Its gain is 40/10 · 4/7 up to 101, then 40/10 · 16/19.
TEST(TrainingTime, FollowsTheGradient) {
  const double steps = 101 / (16.0 / 7) + 99 / (64.0 / 19);
  EXPECT_EQ(training_time(toy_profile(), GangShape{4}, 40), from_seconds(steps));
}

TEST(TrainingTime, IsTheIntegralOfProgress) {
  const GangShape gang{4, 4};
  double progress = 0, time = 0;
  while (progress < last_progress(toy_profile())) {
    progress += progress_per_second(toy_profile(), gang, 40, progress) * 1e-3;
    time += 1e-3;
  }
  EXPECT_NEAR(to_seconds(training_time(toy_profile(), gang, 40)), time, 0.01);
}

TEST(TrainingTime, IsBounded) {
  Profile profile = toy_profile();
  profile.scales[1][1] = {{10, {1e300, 0}}};
  EXPECT_EQ(training_time(profile, GangShape{1}, 10), Duration(kTrainingSecondsMax * 1'000'000));
}

Trace one_job(const std::string& application, std::int64_t batch) {
  TraceJob job;
  job.name = "a";
  job.slots = 8;
  job.application = application;
  job.batch_size = batch;
  job.line = 2;
  Trace trace;
  trace.has_durations = false;
  trace.jobs.push_back(job);
  return trace;
}

TEST(Durations, AreSetForAPackedGang) {
  const Profiles profiles{{"toy", toy_profile()}};
  Trace trace = one_job("toy", 40);
  ASSERT_TRUE(set_durations(trace, "t.csv", profiles, 4).has_value());
  EXPECT_TRUE(trace.has_durations);
  EXPECT_EQ(trace.jobs[0].duration, training_time(toy_profile(), GangShape{4, 4}, 40));
  Trace large = one_job("toy", 1'000);
  ASSERT_TRUE(set_durations(large, "t.csv", profiles, 4).has_value());
  EXPECT_EQ(large.jobs[0].duration, trace.jobs[0].duration) << "no larger batch was validated";
  trace.jobs[0].duration = 5s;
  ASSERT_TRUE(set_durations(trace, "t.csv", {}, 4).has_value());
  EXPECT_EQ(trace.jobs[0].duration, 5s);
}

TEST(Durations, NeedAProfileAndABatch) {
  const Profiles profiles{{"toy", toy_profile()}};
  Trace unknown = one_job("other", 40);
  const auto refused = set_durations(unknown, "t.csv", profiles, 4);
  EXPECT_EQ(refused.error().message,
            "'t.csv', line 2: the length of job 'a' is unknown: it trains 'other', of which there "
            "is no profile.");
  EXPECT_EQ(refused.error().hint, "Profiles: toy.");
  Trace without = one_job("toy", 0);
  EXPECT_EQ(set_durations(without, "t.csv", profiles, 4).error().message,
            "'t.csv', line 2: the length of job 'a' is unknown: it trains 'toy', with no batch.");
}

TEST(Profile, IsCheckedBeforeItIsUsed) {
  EXPECT_TRUE(check_profile(toy_profile()).has_value());
  EXPECT_EQ(check_profile({"x", {}, {}, {}, {}}).error().message,
            "The profile of 'x' has no step times.");
  const std::vector<void (*)(Profile&)> spoil = {
      [](Profile& p) { p.validations.clear(); },
      [](Profile& p) { p.validations[10].clear(); },
      [](Profile& p) { p.validations[10][1].progress = 100; },
      [](Profile& p) { p.validations[10][1].grad_var = -1; },
      [](Profile& p) { p.scales[0][1] = p.scales[1][1]; },
      [](Profile& p) { p.scales[4][3] = p.scales[1][1]; },
      [](Profile& p) { p.scales[1][1].clear(); },
      [](Profile& p) { p.scales[2]; },
      [](Profile& p) { p.scales[1][1][10].seconds = 0; },
      [](Profile& p) { p.scales[1][1][10].sync_seconds = 2; },
      [](Profile& p) { p.placements[{0}] = p.scales[1][1]; },
  };
  for (std::size_t i = 0; i < spoil.size(); ++i) {
    Profile profile = toy_profile();
    spoil[i](profile);
    EXPECT_FALSE(check_profile(profile).has_value()) << i;
  }
}

RC_GTEST_PROP(StepTime, LiesBetweenWhatWasMeasured, ()) {
  const auto nodes = *rc::gen::inRange(1, 20);
  const auto replicas = nodes * *rc::gen::inRange(1, 9);
  const auto local_batch = *rc::gen::inRange<std::int64_t>(1, 21);
  const double time = seconds_at({nodes, replicas}, local_batch);
  RC_ASSERT(time >= 1 && time <= 6);
}

RC_GTEST_PROP(Efficiency, IsAPartAndFallsWithTheBatch, ()) {
  const auto progress = *rc::gen::inRange(0, 300);
  const auto batch = *rc::gen::inRange<std::int64_t>(40, 10'000);
  const double of_this = efficiency(toy_profile(), batch, progress);
  RC_ASSERT(of_this > 0 && of_this <= 1);
  RC_ASSERT(efficiency(toy_profile(), batch + 1, progress) < of_this);
}

}  // namespace
}  // namespace paceline::sim
