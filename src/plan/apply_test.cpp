#include "plan/apply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;
using testing::ending;
using testing::span;

TEST(Apply, StartsWhenEveryWorkerRuns) {
  World world("1x4 cpu");
  const JobId a = world.submit("2..2");
  world.round();
  EXPECT_EQ(world.job(a).state, JobState::starting);
  EXPECT_EQ(world.state().slots_leased(), 2);
  world.started(a, 0);
  EXPECT_EQ(world.job(a).state, JobState::starting);
  world.started(a, 1);
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_EQ(world.job(a).started_at, world.now());
}

}  // namespace
}  // namespace paceline
