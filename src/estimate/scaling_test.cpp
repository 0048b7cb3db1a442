#include "estimate/scaling.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>

#include "model/state.hpp"

namespace paceline {
namespace {

Job sized(std::int32_t min, std::int32_t max, std::int32_t want) {
  Job job;
  job.range = {min, max, want};
  job.spec = std::make_shared<const JobSpec>();
  return job;
}

TEST(Scaling, IsLinearUpToTheWishAndAmdahlsBeyond) {
  const Scaling scaling(sized(1, 16, 4));
  EXPECT_DOUBLE_EQ(scaling.speed(0), 0);
  EXPECT_DOUBLE_EQ(scaling.speed(1), 0.25);
  EXPECT_DOUBLE_EQ(scaling.speed(4), 1);
  EXPECT_DOUBLE_EQ(scaling.speed(8), (8 / 1.35) / (4 / 1.15));
  EXPECT_FALSE(scaling.measured());
  EXPECT_FALSE(scaling.rate(4).has_value());
}

TEST(Scaling, TakesWhatWasMeasured) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "h100", 100, 0, 9}, {4, 1, "h100", 150, 0, 9}};
  const Scaling scaling(job);
  EXPECT_DOUBLE_EQ(scaling.speed(2), 1);
  EXPECT_DOUBLE_EQ(scaling.speed(4), 1.5);
  // 1/100 = a + b/2 and 1/150 = a + b/4: a = 1/300, b = 4/300
  EXPECT_NEAR(scaling.rate(8).value(), 1 / (1.0 / 300 + 4.0 / 300 / 8), 1e-9);
  EXPECT_NEAR(scaling.rate(1).value(), 60, 1e-9);
}

TEST(Scaling, KeepsTheShapeOfThePriorWhereOneSizeWasMeasured) {
  Job job = sized(1, 8, 4);
  job.speeds = {{4, 1, "h100", 100, 0, 3}};
  const Scaling scaling(job);
  EXPECT_DOUBLE_EQ(scaling.rate(2).value(), 50);
  EXPECT_DOUBLE_EQ(scaling.speed(2), 0.5);
}

Job expecting(const Points<std::int32_t>& speeds) {
  Job job = sized(1, 16, 4);
  JobSpec spec;
  spec.expected_speeds = speeds;
  job.spec = std::make_shared<const JobSpec>(spec);
  return job;
}

TEST(Scaling, TakesWhatTheJobExpects) {
  const Scaling scaling(expecting({{2, 2}, {4, 2.5}, {8, 2}}));
  EXPECT_DOUBLE_EQ(scaling.speed(4), 1);
  EXPECT_DOUBLE_EQ(scaling.speed(1), 1 / 2.5) << "linear to no worker";
  EXPECT_DOUBLE_EQ(scaling.speed(3), 2.25 / 2.5);
  EXPECT_DOUBLE_EQ(scaling.speed(8), 2 / 2.5) << "more may be slower";
  EXPECT_DOUBLE_EQ(scaling.speed(16), 2 / 2.5);
}

TEST(Scaling, KeepsTheShapeThatTheJobExpectsBetweenWhatWasMeasured) {
  Job job = expecting({{1, 1}, {4, 2.5}, {8, 2}});
  job.speeds = {{1, 1, "x", 100, 0, 5}, {4, 1, "x", 300, 0, 5}};
  const Scaling scaling(job);
  EXPECT_DOUBLE_EQ(scaling.rate(4).value(), 300);
  EXPECT_DOUBLE_EQ(scaling.rate(8).value(), 2 * (100.0 / 1 + 300 / 2.5) / 2);
}

TEST(Scaling, NeverPredictsNegativeSeconds) {
  Job job = sized(1, 8, 1);
  job.speeds = {{1, 1, "x", 10, 0, 5}, {2, 1, "x", 30, 0, 5}};  // faster than linear
  const Scaling scaling(job);
  EXPECT_GT(scaling.rate(100).value(), 30);
}

TEST(Scaling, IsAsOnTheDeviceOfWhichMostWasReported) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "a100", 50, 0, 9}, {2, 1, "h100", 100, 0, 9}};
  EXPECT_DOUBLE_EQ(Scaling(job).rate(2).value(), 50) << "equally much was reported of both";
  job.speeds[1].reports = 10;
  EXPECT_DOUBLE_EQ(Scaling(job).rate(2).value(), 100);
}

TEST(Scaling, IsNotWorseForAJobThatGrewOntoSlowerDevices) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "a100", 50, 0, 4}, {2, 1, "h100", 100, 0, 9}, {4, 1, "a100", 100, 4, 9}};
  job.speeds[1].reports = 20;
  const Scaling scaling(job);
  EXPECT_DOUBLE_EQ(scaling.speed(2), 1);
  EXPECT_DOUBLE_EQ(scaling.speed(4), 2);
  EXPECT_DOUBLE_EQ(scaling.speed(8), 4) << "the fit is of what the main device would do";
}

TEST(Scaling, LearnsNothingOfTheCurveFromADeviceOfOneSizeOfItsOwn) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "h100", 100, 0, 9}, {4, 1, "a100", 60, 0, 3}};
  const Scaling scaling(job), without(sized(1, 8, 2));
  EXPECT_DOUBLE_EQ(scaling.speed(4), without.speed(4));
  EXPECT_DOUBLE_EQ(scaling.rate(4).value(), 100 * without.speed(4));
  EXPECT_DOUBLE_EQ(scaling.uncertainty(4), 0.3);
}

TEST(Scaling, TakesTheShapeFromADeviceOfSeveralSizesOfItsOwn) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "h100", 100, 0, 9}, {4, 1, "a100", 60, 0, 3}, {8, 1, "a100", 90, 0, 3}};
  const Scaling scaling(job);
  EXPECT_DOUBLE_EQ(scaling.speed(8) / scaling.speed(4), 1.5);
  EXPECT_GT(scaling.speed(4), 1) << "more workers of a slower device are not slower workers";
  EXPECT_DOUBLE_EQ(scaling.uncertainty(4), 0.3);
}

TEST(Scaling, BringsEveryDeviceToThoseBeforeIt) {
  Job job = sized(1, 8, 1);
  job.speeds = {{1, 1, "h100", 100, 0, 9}, {1, 1, "v100", 20, 0, 2},  {2, 1, "a100", 100, 0, 5},
                {2, 1, "h100", 200, 0, 9}, {4, 1, "a100", 200, 0, 5}, {8, 1, "v100", 160, 0, 2}};
  const Scaling scaling(job);
  for (const std::int32_t n : {1, 2, 4, 8}) EXPECT_DOUBLE_EQ(scaling.speed(n), n);
}

TEST(Scaling, KnowsHowLittleItKnows) {
  Job job = sized(1, 8, 2);
  EXPECT_DOUBLE_EQ(Scaling(job).uncertainty(2), 0);
  EXPECT_DOUBLE_EQ(Scaling(job).uncertainty(4), 0.3);
  job.speeds = {{2, 1, "h100", 100, 25, 9}, {4, 1, "h100", 150, 0, 9}};
  EXPECT_DOUBLE_EQ(Scaling(job).uncertainty(2), 0.05);
  EXPECT_DOUBLE_EQ(Scaling(job).uncertainty(8), 0.1);
}

RC_GTEST_PROP(Scaling, GrowsWithTheWorkers, ()) {
  Job job = sized(1, 64, *rc::gen::inRange(1, 64));
  const auto points = *rc::gen::inRange(0, 4);
  double rate = 0;
  for (int i = 0; i < points; ++i) {
    rate += *rc::gen::inRange(1, 100);
    job.speeds.push_back({1 << i, 1, "x", rate, 0, 3});
  }
  const Scaling scaling(job);
  for (std::int32_t n = 9; n < 64; ++n) RC_ASSERT(scaling.speed(n) >= scaling.speed(n - 1));
}

// Of a job that stands on two slots of that model.
double pace_on(std::string_view model, Job job, std::int32_t workers) {
  std::vector<Node> nodes(1);
  nodes[0].spec.slots.assign(2, {SlotKind::gpu, std::string(model), {}, 0, true, {}});
  job.current.emplace();
  for (const std::uint32_t slot : {0U, 1U}) {
    job.current->workers.emplace_back();
    job.current->workers.back().seat.slots = {slot};
  }
  return pace(nodes, job, workers);
}

TEST(Pace, IsWhatWasMeasuredOnTheDevicesThatItHas) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "h100", 100, 0, 9}, {2, 1, "v100", 40, 0, 3}, {4, 1, "h100", 200, 0, 9}};
  EXPECT_DOUBLE_EQ(pace(std::vector<Node>(1), job, 2), 1) << "it has none";
  EXPECT_NEAR(pace_on("h100", job, 2), 1, 0.1);
  EXPECT_NEAR(pace_on("v100", job, 2) / pace_on("h100", job, 2), 0.4, 1e-9);
  EXPECT_DOUBLE_EQ(pace_on("v100", job, 4), pace_on("v100", job, 2)) << "nothing else is known";
  EXPECT_DOUBLE_EQ(pace_on("a100", job, 2), 1) << "never measured";
  job.speeds.erase(job.speeds.begin() + 1);
  EXPECT_DOUBLE_EQ(pace_on("h100", job, 2), 1) << "of one model alone";
}

TEST(Pace, OfASizeThatWasMeasuredThereAloneIsFound) {
  Job job = sized(1, 8, 2);
  job.speeds = {{2, 1, "h100", 100, 0, 9}, {4, 1, "v100", 50, 0, 3}};
  const double on_h100 = Scaling(job).rate(4).value();
  EXPECT_DOUBLE_EQ(pace_on("v100", job, 4) * on_h100, 50);
}

}  // namespace
}  // namespace paceline
