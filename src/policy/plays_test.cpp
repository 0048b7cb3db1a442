// Expected times of literal worlds under policies that ship, with their arithmetic.
#include "forecast/plays.hpp"

#include <gtest/gtest.h>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

class PlaysTest : public ::testing::Test {
 protected:
  Plays plays() {
    return {world->state().parts(), world->now(), decider(*fifo), placer, Protects::no};
  }
  Expectations expected() {
    Plays all = plays();
    while (all.step()) {
    }
    return all.expectations();
  }
  // Seconds from now.
  [[nodiscard]] double in(std::optional<Time> at) const { return to_seconds(*at - world->now()); }

  std::optional<World> world{std::in_place, "1x1 cpu", "fifo"};
  std::unique_ptr<Policy> fifo = *PolicyRegistry().make("fifo", {});
  PackPlacer placer;
};

TEST_F(PlaysTest, ADeclaredLengthMovesTheStartOfWhatWaitsBehindIt) {
  const JobId first = world->run("1 expect=100s", 1);
  const JobId second = world->submit("1 expect=10s");
  world->advance(span("50s"));
  const auto jobs = expected().jobs;
  // 50 s are left, less 30 or more 50 of the 100.
  const auto& end = *jobs.at(first).end;
  EXPECT_FALSE(jobs.at(first).start);
  EXPECT_DOUBLE_EQ(in(end.at), 50);
  EXPECT_DOUBLE_EQ(in(end.earliest), 20);
  EXPECT_DOUBLE_EQ(in(end.latest), 100);
  const JobExpected& behind = jobs.at(second);
  EXPECT_EQ(behind.start->at, end.at);
  EXPECT_EQ(behind.start->earliest, end.earliest);
  EXPECT_EQ(behind.start->latest, end.latest);
  EXPECT_EQ(behind.start->known, LengthSource::declared);
  EXPECT_EQ(behind.after, first);
  // It takes 7, 10 or 15 s itself.
  EXPECT_DOUBLE_EQ(in(behind.end->earliest), 27);
  EXPECT_DOUBLE_EQ(in(behind.end->at), 60);
  EXPECT_DOUBLE_EQ(in(behind.end->latest), 115);
}

TEST_F(PlaysTest, WhatNobodyKnowsIsWideAndNotSilent) {
  const JobId first = world->run("1", 1);
  const JobId second = world->submit("1 expect=10s");
  const auto jobs = expected().jobs;
  // The median of the lengths that are known is 10 s, in the short play 7, in the long one 15.
  EXPECT_DOUBLE_EQ(in(jobs.at(first).end->earliest), 0.7);
  EXPECT_DOUBLE_EQ(in(jobs.at(first).end->at), 10);
  EXPECT_DOUBLE_EQ(in(jobs.at(first).end->latest), 150);
  EXPECT_EQ(jobs.at(first).end->known, LengthSource::unknown);
  EXPECT_EQ(jobs.at(second).start->known, LengthSource::unknown);
  EXPECT_EQ(jobs.at(second).end->known, LengthSource::unknown) << "it hangs on the first";
}

TEST_F(PlaysTest, AFreeSlotIsHadNow) {
  const JobId job = world->submit("1 expect=10s");
  const auto start = expected().jobs.at(job).start;
  EXPECT_DOUBLE_EQ(in(start->at), 0);
  EXPECT_DOUBLE_EQ(in(start->latest), 0);
  EXPECT_FALSE(expected().jobs.at(job).after);
}

TEST_F(PlaysTest, WhatStandsStillHasNoTimes) {
  const JobId held = world->submit("1 hold");
  const auto jobs = expected().jobs;
  EXPECT_FALSE(jobs.at(held).start);
  EXPECT_FALSE(jobs.at(held).end);
}

TEST_F(PlaysTest, WhatNothingBringsAboutHasNoTimes) {
  const JobId first = world->submit("1 expect=10s");
  world->node_down("cpu-0");
  EXPECT_FALSE(expected().jobs.at(first).start);
}

TEST_F(PlaysTest, APlayThatIsCutSaysLater) {
  world->run("1 expect=100s", 1);
  const JobId second = world->submit("1 expect=10s");
  const JobId third = world->submit("1 expect=10s");
  Plays all = plays();
  std::size_t steps = 0;
  while (all.step()) {
    if (steps++ % 3 == 2) all.cut();
  }
  // Each play comes to the end of the first job: to 100, 70 and 150 s.
  const auto jobs = all.expectations().jobs;
  const auto& start = *jobs.at(third).start;
  EXPECT_FALSE(start.at);
  EXPECT_FALSE(start.latest);
  EXPECT_GE(in(start.earliest), 70);
  EXPECT_TRUE(jobs.at(second).start);
}

TEST_F(PlaysTest, AJobThatOutranItsLengthMayEndAnyMomentOrLater) {
  const JobId job = world->run("1 expect=100s", 1);
  world->advance(span("200s"));
  const auto end = expected().jobs.at(job).end;
  EXPECT_DOUBLE_EQ(in(end->at), 0);
  EXPECT_DOUBLE_EQ(in(end->latest), 100) << "half of the 200 s that it ran";
}

}  // namespace
}  // namespace paceline
