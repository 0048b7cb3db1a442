#include "scheduler/forgetting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class ForgettingTest : public ::testing::Test {
 protected:
  JobId ended() {
    const JobId job = world_.run("1..1", 1);
    world_.ended(job);
    world_.advance(span("1s"));
    return job;
  }
  void follow(Forgetting& forgetting, JobId job) {
    forgetting.follow(world_.state(), std::vector{job});
  }

  World world_{"1x4 cpu"};
};

TEST_F(ForgettingTest, TakesThoseThatEndedFirstOfMoreThanSoMany) {
  Forgetting forgetting({3, span("1000h")});
  for (int i = 0; i < 3; ++i) follow(forgetting, ended());
  EXPECT_THAT(forgetting.due(world_.now()), IsEmpty());
  follow(forgetting, ended());
  follow(forgetting, JobId{4});
  EXPECT_THAT(forgetting.due(world_.now()), ElementsAre(JobId{1}));
  EXPECT_LE(*forgetting.next(), world_.now());
  forgetting.forgot(std::vector{JobId{1}}, world_.now());
  EXPECT_THAT(forgetting.due(world_.now()), IsEmpty());
}

TEST_F(ForgettingTest, ATenthMoreComesTogetherFirst) {
  Forgetting forgetting({20, span("1000h")});
  for (int i = 0; i < 22; ++i) follow(forgetting, ended());
  EXPECT_THAT(forgetting.due(world_.now()), IsEmpty());
  follow(forgetting, ended());
  EXPECT_THAT(forgetting.due(world_.now()), ElementsAre(JobId{1}, JobId{2}, JobId{3}));
}

TEST_F(ForgettingTest, TakesThoseThatEndedLongAgoTogether) {
  Forgetting forgetting({100, span("10m")});
  const Time first = world_.now();
  follow(forgetting, ended());
  follow(forgetting, ended());
  EXPECT_EQ(forgetting.next(), first + span("10m"));
  EXPECT_THAT(forgetting.due(first + span("10m") - Duration{1}), IsEmpty());
  EXPECT_THAT(forgetting.due(first + span("10m")), ElementsAre(JobId{1}));
  forgetting.forgot(std::vector{JobId{1}}, first + span("10m"));
  EXPECT_THAT(forgetting.due(first + span("10m") + span("1s")), IsEmpty());
  EXPECT_EQ(forgetting.next(), first + span("11m"));
  EXPECT_THAT(forgetting.due(first + span("11m")), ElementsAre(JobId{2}));
}

TEST_F(ForgettingTest, LooksAtWhatIsOverAlone) {
  Forgetting forgetting({1, span("1s")});
  follow(forgetting, world_.run("1..1", 1));
  EXPECT_EQ(forgetting.next(), std::nullopt);
  EXPECT_THAT(forgetting.due(world_.now() + span("1h")), IsEmpty());
}

}  // namespace
}  // namespace paceline
