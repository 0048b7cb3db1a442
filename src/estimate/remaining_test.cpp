#include "estimate/remaining.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

double left(const World& world, JobId job) { return length_left(world.job(job), world.now()); }

TEST(LengthLeft, IsWhatWasDeclaredLessWhatItRan) {
  World world("1x4 cpu");
  const JobId a = world.run("2..4 expect=100s elastic=restart", 2);
  EXPECT_DOUBLE_EQ(left(world, a), 100);
  world.advance(span("30s"));
  EXPECT_DOUBLE_EQ(left(world, a), 70);
  world.checkpoint(a);
  world.change_size(a, 4);
  world.killed(a);
  world.started(a);
  world.advance(span("20s"));  // twice as many workers as it wants count double
  EXPECT_DOUBLE_EQ(left(world, a), 30);
}

TEST(LengthLeft, CountsOtherSizesByTheSpeedsThatTheJobExpects) {
  World world("1x4 cpu");
  const JobId a = world.run("2..4 expect=100s speeds=2:2,4:2.5 elastic=restart", 2);
  world.advance(span("30s"));
  world.checkpoint(a);
  world.change_size(a, 4);
  world.killed(a);
  world.started(a);
  world.advance(span("20s"));
  EXPECT_DOUBLE_EQ(left(world, a), 100 - 30 - 20 * 2.5 / 2);
  EXPECT_EQ(remaining(world.job(a), world.now(), 4)->likely, span("36s"));
}

TEST(LengthLeft, ForgetsWorkThatWasLost) {
  World world("1x4 cpu");
  const JobId a = world.run("2 expect=100s", 2);
  world.advance(span("30s"));
  world.checkpoint(a);
  world.advance(span("20s"));
  const JobId b = world.submit("4");
  world.preempt(a, b, 4);
  world.killed(a);
  EXPECT_DOUBLE_EQ(left(world, a), 70);
}

TEST(LengthLeft, BelievesProgressOnceThereIsSome) {
  World world("1x4 cpu");
  const JobId a = world.run("2 expect=100s samples=1000", 2);
  world.advance(span("30s"));
  Progress report;
  report.samples = 10;
  world.report(a, report);
  EXPECT_EQ(length_source(world.job(a)), LengthSource::declared);
  report.samples = 500;
  world.report(a, report);
  EXPECT_EQ(length_source(world.job(a)), LengthSource::progress);
  EXPECT_DOUBLE_EQ(left(world, a), 30);
}

TEST(LengthLeft, OfALengthThatWasDeclaredIsLongerAtASizeThatWasMadeSmaller) {
  World world("1x4 cpu");
  const JobId a = world.submit("4..4 expect=100s name=digits");
  world.resize(a, "1..1");
  EXPECT_DOUBLE_EQ(left(world, a), 400);
  world.start(a, 1);
  world.started(a);
  world.advance(span("40s"));
  EXPECT_DOUBLE_EQ(left(world, a), 360);
  EXPECT_EQ(remaining(world.job(a), world.now()), span("360s"));
  world.advance(span("360s"));
  EXPECT_DOUBLE_EQ(left(world, a), 0);
  world.ended(a);
  EXPECT_EQ(world.job(world.submit("4..4 name=digits")).usual_length, span("100s"));
}

TEST(LengthLeft, GoesDownBetweenTwoReports) {
  World world("1x1 cpu");
  const JobId a = world.run("1 samples=1000", 1);
  Progress report;
  for (report.samples = 100; *report.samples < 300; *report.samples += 100) {
    world.advance(span("1h"));
    world.report(a, report);
    EXPECT_DOUBLE_EQ(left(world, a), 36.0 * (1000.0 - static_cast<double>(*report.samples)));
    EXPECT_DOUBLE_EQ(length_slope(world.job(a)), -1);
  }
  world.advance(span("30m"));
  report.samples.reset();
  report.metrics["loss"] = 1;  // tells nothing of how far it is
  world.report(a, report);
  world.advance(span("29m"));
  EXPECT_DOUBLE_EQ(left(world, a), 8 * 3600 - 59 * 60);
}

TEST(LengthLeft, KeepsWhatProgressToldOfTheLengthWhereWorkIsLost) {
  World world("1x1 cpu");
  const JobId a = world.run("1 samples=1000", 1);
  Progress report;
  report.samples = 900;
  world.advance(span("100s"));
  world.checkpoint(a);
  world.advance(span("800s"));
  world.report(a, report);
  EXPECT_DOUBLE_EQ(left(world, a), 100);
  world.node_lost("cpu-0");
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_DOUBLE_EQ(left(world, a), 900);
}

TEST(LengthSource, HasAWordForEach) {
  EXPECT_EQ(to_string(LengthSource::unknown), "unknown");
  EXPECT_EQ(to_string(LengthSource::name), "name");
  EXPECT_EQ(to_string(LengthSource::declared), "declared");
  EXPECT_EQ(to_string(LengthSource::progress), "progress");
}

TEST(LengthLeft, IsLearnedFromJobsOfItsName) {
  World world("1x4 cpu");
  const JobId waits = world.submit("4 name=digits");
  EXPECT_TRUE(std::isinf(left(world, waits)));
  const JobId a = world.run("2 name=digits", 2);
  world.advance(span("60s"));
  world.ended(a);
  EXPECT_EQ(length_source(world.job(waits)), LengthSource::name);
  EXPECT_DOUBLE_EQ(left(world, waits), 60);
  EXPECT_DOUBLE_EQ(left(world, world.submit("1 name=digits")), 60);
  EXPECT_TRUE(std::isinf(left(world, world.submit("1 name=other"))));
}

TEST(Remaining, OfWhatTakesForEverIsLong) {
  World world("1x1 cpu");
  const JobId a = world.run("1", 1);
  Progress report;
  report.step = 10;
  report.total_steps = 9'000'000'000'000'000;
  report.reported_at = world.now() + span("10s");
  world.advance(span("10s"));
  world.report(a, report);
  const auto found = remaining(world.job(a), world.now(), 1);
  ASSERT_TRUE(found);
  EXPECT_GT(found->likely, span("1000000h"));
  EXPECT_GT(found->high, span("1000000h"));
}

TEST(Remaining, CarriesAnInterval) {
  World world("1x4 cpu");
  const JobId a = world.submit("2..4 expect=100s");
  const auto two = remaining(world.job(a), world.now(), 2).value();
  EXPECT_EQ(two.likely, span("100s"));
  EXPECT_EQ(two.low, span("70s"));
  EXPECT_EQ(two.high, span("150s"));
  const auto four = remaining(world.job(a), world.now(), 4).value();
  EXPECT_LT(four.likely, two.likely);
  EXPECT_LT(four.low, four.likely);
  EXPECT_GT(four.high, four.likely);
  EXPECT_FALSE(remaining(world.job(world.submit("1")), world.now(), 1).has_value());
}

TEST(Remaining, FollowsTheMeasuredSpeed) {
  World world("1x8 cpu");
  const JobId a = world.run("2..8 expect=1000s elastic=restart", 2);
  Progress report;
  const auto train = [&](std::uint64_t samples) {
    world.advance(span("10s"));
    report.samples = report.samples.value_or(0) + samples;
    world.report(a, report);
  };
  for (int i = 0; i < 4; ++i) train(1000);
  world.checkpoint(a);
  world.change_size(a, 4);
  world.killed(a);
  world.started(a);
  for (int i = 0; i < 4; ++i) train(1500);
  ASSERT_EQ(world.job(a).speeds.size(), 2U);
  EXPECT_DOUBLE_EQ(world.job(a).speeds[0].rate, 100);
  EXPECT_DOUBLE_EQ(world.job(a).speeds[1].rate, 150);
  const double at_want = left(world, a);
  EXPECT_NEAR(to_seconds(remaining(world.job(a), world.now()).value()), at_want / 1.5, 1e-3);
}

TEST(Remaining, ComesFromProgressElseFromTheOwnerElseIsUnknown) {
  World world("1x16 cpu");
  const JobId a = world.run("1..1 samples=1000 expect=1h", 1);
  world.advance(span("60s"));
  EXPECT_EQ(remaining(world.job(a), world.now()), span("59m"));
  Progress report;
  report.samples = 250;
  world.report(a, report);
  EXPECT_EQ(remaining(world.job(a), world.now()), span("180s"));  // a quarter took 60 s
  const JobId b = world.run("1..1", 1);
  EXPECT_EQ(remaining(world.job(b), world.now()), std::nullopt);
  const JobId c = world.run("1..1 expect=10s", 1);
  world.advance(span("1h"));
  EXPECT_EQ(remaining(world.job(c), world.now()), Duration::zero());
}

}  // namespace
}  // namespace paceline
