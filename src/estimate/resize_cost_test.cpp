#include "estimate/resize_cost.hpp"

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

TEST(ResizeCost, TakesThePauseMeasuredAtEarlierResizes) {
  World world("1x16 cpu");
  const JobId job = world.run("1..8@8 elastic=restart", 2);
  world.advance(span("1h"));
  world.checkpoint(job);
  EXPECT_DOUBLE_EQ(resize_cost(world.job(job), world.now()), 10);  // the prior: 5 s of 2 slots
  world.change_size(job, 4);
  world.advance(span("30s"));  // 4 slots wait 30 s: 120
  world.killed(job);
  world.started(job);
  EXPECT_DOUBLE_EQ(resize_cost(world.job(job), world.now()), 120);
}

TEST(WorkAtRisk, IsCountedFromTheLastCheckpointOfThisGangOrItsStart) {
  World world("1x16 cpu");
  const JobId a = world.run("1..8 elastic=restart", 4);
  world.advance(span("10s"));
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 40);
  world.checkpoint(a);
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 0);
  world.advance(span("5s"));
  world.change_size(a, 2);
  world.killed(a);
  world.started(a);
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 0);  // what was lost before is lost
  world.advance(span("3s"));
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 6);
}

}  // namespace
}  // namespace paceline
