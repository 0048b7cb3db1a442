#include "estimate/remaining.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

std::optional<Duration> remains(const World& world, JobId job) {
  return remaining(world.state().nodes(), world.job(job), world.now());
}

std::optional<Prediction> remains(const World& world, JobId job, std::int32_t workers) {
  return remaining(world.state().nodes(), world.job(job), world.now(), workers);
}

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
  EXPECT_EQ(remains(world, a, 4)->likely, span("36s"));
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
  EXPECT_EQ(remains(world, a), span("360s"));
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
  const auto found = remains(world, a, 1);
  ASSERT_TRUE(found);
  EXPECT_GT(found->likely, span("1000000h"));
  EXPECT_GT(found->high, span("1000000h"));
}

TEST(Remaining, CarriesAnInterval) {
  World world("1x4 cpu");
  const JobId a = world.submit("2..4 expect=100s");
  const auto two = remains(world, a, 2).value();
  EXPECT_EQ(two.likely, span("100s"));
  EXPECT_EQ(two.low, span("70s"));
  EXPECT_EQ(two.high, span("150s"));
  const auto four = remains(world, a, 4).value();
  EXPECT_LT(four.likely, two.likely);
  EXPECT_LT(four.low, four.likely);
  EXPECT_GT(four.high, four.likely);
  EXPECT_FALSE(remains(world, world.submit("1"), 1).has_value());
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
  EXPECT_NEAR(to_seconds(remains(world, a).value()), at_want / 1.5, 1e-3);
}

TEST(Remaining, ComesFromProgressElseFromTheOwnerElseIsUnknown) {
  World world("1x16 cpu");
  const JobId a = world.run("1..1 samples=1000 expect=1h", 1);
  world.advance(span("60s"));
  EXPECT_EQ(remains(world, a), span("59m"));
  Progress report;
  report.samples = 250;
  world.report(a, report);
  EXPECT_EQ(remains(world, a), span("180s"));  // a quarter took 60 s
  const JobId b = world.run("1..1", 1);
  EXPECT_EQ(remains(world, b), std::nullopt);
  const JobId c = world.run("1..1 expect=10s", 1);
  world.advance(span("1h"));
  EXPECT_EQ(remains(world, c), Duration::zero());
}

// Trains on one device model, and goes on upon another, that is as slow as is said.
struct Mover {
  explicit Mover(std::string_view literal) : job(world.run(literal, 1)) {}

  void train(double rate, int reports) {
    for (int i = 0; i < reports; ++i) {
      world.advance(span("10s"));
      report.samples = report.samples.value_or(0) + static_cast<std::uint64_t>(10 * rate);
      report.reported_at = world.now();
      world.report(job, report);
    }
  }

  [[nodiscard]] const Node& node() const {
    return *world.state().find_node(world.job(job).current->workers[0].seat.node);
  }

  // Its machine is gone, and comes back when the job stands on the other.
  void move() {
    world.checkpoint(job);
    const std::string from = node().spec.name;
    world.node_lost(from);
    world.start(job, 1);
    world.started(job);
    world.node_up(from);
  }

  World world{"1x1 a100; 1x1 v100"};
  JobId job;
  Progress report;
};

TEST(Remaining, IsAsLongAsItsNewDevicesAreSlowOnceTheyAreMeasured) {
  Mover moved("1..1 samples=10000");
  World& world = moved.world;
  moved.train(100, 4);
  EXPECT_EQ(remains(world, moved.job), span("60s"));
  moved.move();
  EXPECT_EQ(remains(world, moved.job), span("60s")) << "nothing is known of how fast it is there";
  moved.train(10, 3);
  // 5,700 samples: at 10 a second, and at the 100 of the model of which it reported most.
  EXPECT_EQ(remains(world, moved.job), span("570s"));
  EXPECT_DOUBLE_EQ(left(world, moved.job), 57);
  EXPECT_DOUBLE_EQ(pace_now(world.state().nodes(), world.job(moved.job)), 0.1);
  world.advance(span("20s"));
  EXPECT_EQ(remains(world, moved.job), span("550s")) << "between two reports, too";
  world.advance(span("1000s"));
  EXPECT_EQ(remains(world, moved.job), Duration::zero());
}

TEST(Remaining, OfAJobThatCameBackIsAsItWas) {
  Mover moved("1..1 samples=10000");
  moved.train(100, 4);
  moved.move();
  moved.train(10, 3);
  moved.move();
  EXPECT_EQ(remains(moved.world, moved.job), span("57s"));
}

TEST(Remaining, OfALengthThatWasDeclaredGrowsWithSlowerDevices) {
  Mover moved("1..1 expect=1000s");
  moved.train(100, 4);
  moved.move();
  moved.train(10, 3);
  EXPECT_EQ(remains(moved.world, moved.job), span("9300s"));
}

}  // namespace
}  // namespace paceline
