// What is learned from jobs is learned of their owner's alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "estimate/interference.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

TEST(Kinds, LendNoLengthToAnotherOwnersJobsOfTheSameName) {
  World world("1x1 cpu");
  const JobId ann = world.run("1..1 name=train uid=1000", 1);
  const JobId bob = world.submit("1..1 name=train uid=1001");
  const JobId again = world.submit("1..1 name=train uid=1000");
  world.advance(span("100s"));
  world.ended(ann);
  EXPECT_FALSE(world.job(bob).usual_length);
  EXPECT_EQ(world.job(again).usual_length, span("100s"));
  const JobId later = world.submit("1..1 name=train uid=1001");
  EXPECT_FALSE(world.job(later).usual_length);
  EXPECT_EQ(world.job(world.submit("1..1 name=train uid=1000")).usual_length, span("100s"));
}

TEST(Kinds, ForgetTheLengthsOfNamesThatEndedFirst) {
  World world("1x1 cpu");
  const auto run = [&](std::size_t name) {
    const JobId job = world.run(fmt::format("1..1 name=n{}", name), 1);
    world.advance(span("100s"));
    world.ended(job);
    world.tell(JobsForgotten{{job}});  // each entry is followed by a check of all jobs
  };
  const auto length = [&](std::size_t name) {
    return world.job(world.submit(fmt::format("1..1 name=n{}", name))).usual_length;
  };
  for (std::size_t name = 1; name <= kNamesMax; ++name) run(name);
  EXPECT_EQ(length(1), span("100s")) << "there is room for so many";
  run(kNamesMax + 1);
  EXPECT_FALSE(length(1));
  EXPECT_EQ(length(kNamesMax), span("100s"));
  EXPECT_EQ(length(kNamesMax + 1), span("100s"));
}

TEST(Kinds, LendNoSlowDownToAnotherOwnersJobsOfTheSameName) {
  World world("1x2 cpu");
  Progress report;
  const auto say = [&](JobId job, double step_seconds) {
    for (int i = 0; i < 5; ++i) {
      report.step = report.step.value_or(0) + 1;
      report.step_seconds = step_seconds;
      world.advance(span("1s"));
      report.reported_at = world.now();
      world.report(job, report);
    }
  };
  const JobId train = world.run("1..1 name=train uid=1000", 1);
  say(train, 1.0);
  world.run("1..1 name=prep uid=1000", 1);
  say(train, 2.0);
  const auto& learned = world.state().interference();
  EXPECT_GT(slow_down(learned, "1000/train", "1000/prep"), 0.5);
  EXPECT_EQ(slow_down(learned, "1001/train", "1000/prep"), 0);
  EXPECT_FALSE(knows(learned, "1001/prep"));
}

}  // namespace
}  // namespace paceline
