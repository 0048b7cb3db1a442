#include "model/time_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class SomeLimits : public ::testing::Test {
 protected:
  void watch(JobId job) { limits_.watch(job, world_.job(job).limit_at()); }
  std::vector<JobId> due() { return limits_.take_due(world_.now()); }

  World world_{"1x4 cpu"};
  TimeLimits limits_;
};

TEST_F(SomeLimits, AreReachedAfterRunningThatLong) {
  const JobId a = world_.run("1..1 max_duration=60s", 1);
  watch(a);
  EXPECT_EQ(limits_.next(), world_.now() + span("60s"));
  world_.advance(span("59s"));
  EXPECT_THAT(due(), IsEmpty());
  world_.advance(span("1s"));
  EXPECT_THAT(due(), ElementsAre(a));
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(limits_.next(), std::nullopt);
}

TEST_F(SomeLimits, DoNotCountPauses) {
  const JobId a = world_.run("1..1 max_duration=60s", 1);
  world_.advance(span("50s"));
  world_.pause(a);
  watch(a);
  EXPECT_EQ(limits_.next(), std::nullopt);
  world_.advance(span("1h"));
  world_.resume(a);
  watch(a);
  EXPECT_EQ(limits_.next(), world_.now() + span("10s"));
}

TEST_F(SomeLimits, SpanAttempts) {
  const JobId a = world_.run("1..1 max_duration=60s retry=1", 1);
  world_.advance(span("40s"));
  world_.ended(a, testing::ending("1"));
  watch(a);
  EXPECT_EQ(limits_.next(), std::nullopt);
  world_.advance(span("5m"));
  world_.start(a, 1);
  world_.started(a);
  watch(a);
  EXPECT_EQ(limits_.next(), world_.now() + span("20s"));
}

TEST_F(SomeLimits, HoldAJobOnceHoweverOftenItIsTouched) {
  const JobId a = world_.run("1..1 max_duration=24h", 1);
  for (int i = 0; i < 1000; ++i) {
    world_.advance(span("1s"));
    world_.report(a, {});
    watch(a);
  }
  world_.advance(span("24h"));
  EXPECT_THAT(due(), ElementsAre(a));
}

TEST_F(SomeLimits, AreTakenInIdOrder) {
  const JobId a = world_.run("1..1 max_duration=60s", 1);
  const JobId b = world_.run("1..1 max_duration=30s", 1);
  const JobId c = world_.run("1..1", 1);
  for (const JobId id : {c, b, a}) watch(id);
  world_.advance(span("60s"));
  EXPECT_THAT(due(), ElementsAre(a, b));
}

}  // namespace
}  // namespace paceline
