#include "scheduler/foresight.hpp"

#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

class ForesightTest : public ::testing::Test {
 protected:
  void ask() {
    foresight.ask(world.snapshot(), [this] { ++told; });
  }
  int work() {
    int answered = 0;
    while (foresight.work()) ++answered;
    foresight.hand_on();
    return answered;
  }

  World world{"1x1 cpu", "fifo"};
  PolicyRegistry registry;
  PackPlacer placer;
  Foresight foresight{{registry, placer, Protects::no, "fifo", [this] { return world.now(); }}};
  int told = 0;
};

TEST_F(ForesightTest, AnswersAllWhoAskedWithOneForecast) {
  const JobId first = world.run("1 expect=100s", 1);
  const JobId second = world.submit("1 expect=10s");
  ask();
  ask();
  EXPECT_EQ(told, 0) << "nothing is done where it is asked";
  EXPECT_EQ(work(), 1);
  EXPECT_EQ(told, 2);
  EXPECT_EQ(foresight.newest()->jobs.at(second).start->at, world.now() + span("100s"));
  EXPECT_EQ(foresight.newest()->jobs.at(second).after, first);
}

TEST_F(ForesightTest, HoldsUntilTheStateChangesOrItIsOld) {
  const JobId job = world.submit("1 expect=10s");
  ask();
  work();
  world.advance(span("9s"));
  ask();
  EXPECT_EQ(told, 2) << "at once";
  EXPECT_EQ(work(), 0);
  world.advance(span("1s"));
  ask();
  EXPECT_EQ(work(), 1);
  world.cancel(job);
  ask();
  EXPECT_EQ(work(), 1);
  EXPECT_FALSE(foresight.newest()->jobs.contains(job));
}

TEST_F(ForesightTest, RestsForAsLongAsItWorked) {
  world.submit("1 expect=10s");
  ask();
  while (foresight.work()) {
  }
  world.advance(span("1s"));
  foresight.hand_on();
  const JobId later = world.submit("1 expect=10s");
  ask();
  EXPECT_EQ(told, 2) << "with what there is";
  EXPECT_FALSE(foresight.newest()->jobs.contains(later));
  EXPECT_EQ(work(), 0);
  world.advance(span("1s"));
  ask();
  EXPECT_EQ(work(), 1);
  EXPECT_TRUE(foresight.newest()->jobs.contains(later));
}

// Each look at the clock costs a second, as if every moment of a play took that long.
TEST_F(ForesightTest, IsCutWhereTheBudgetIsSpent) {
  for (int i = 0; i < 50; ++i) world.submit("1 expect=10s");
  Foresight slow({registry, placer, Protects::no, "fifo",
                  [this] {
                    world.advance(span("1s"));
                    return world.now();
                  },
                  [](Expectations&) {}, span("9s")});
  slow.ask(world.snapshot(), [] {});
  EXPECT_TRUE(slow.work());
  slow.hand_on();
  const auto& jobs = slow.newest()->jobs;
  EXPECT_TRUE(jobs.at(JobId{1}).start->latest);
  EXPECT_FALSE(jobs.at(JobId{50}).start->at) << "later than the forecast came";
}

}  // namespace
}  // namespace paceline
