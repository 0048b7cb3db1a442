#include "policy/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/patient.hpp"
#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

Patience read(std::string_view text) { return Patience::parse(text).value(); }

TEST(Patience, IsReadAndWritten) {
  for (const auto& [text, written] : std::map<std::string, std::string>{{"auto", "auto"},
                                                                        {"off", "off"},
                                                                        {"90s", "90s"},
                                                                        {"30m", "1800s"},
                                                                        {"2h", "7200s"},
                                                                        {"1d", "86400s"},
                                                                        {"45", "45s"},
                                                                        {"365d", "31536000s"}}) {
    EXPECT_EQ(read(text).text(), written);
    EXPECT_EQ(read(written), read(text));
  }
}

TEST(Patience, RefusesWhatIsNoTime) {
  for (const char* text : {"", "0", "0s", "-5m", "1.5h", "5 m", "30min", "366d", "999999999999d",
                           "99999999999999999999", "Off", "none"}) {
    const auto wrong = Patience::parse(text);
    ASSERT_FALSE(wrong.has_value()) << text;
    EXPECT_EQ(wrong.error().code, ErrorCode::invalid);
    EXPECT_THAT(wrong.error().hint, ::testing::HasSubstr("30m"));
  }
}

TEST(Patience, IsHalfAnHourOrATenthOfTheLengthAndNeverMoreThanSixHours) {
  World world("1x1 cpu");
  const auto minutes = [&](std::string_view literal) {
    return to_seconds(Patience().of(world.job(world.submit(literal)))) / 60;
  };
  EXPECT_DOUBLE_EQ(minutes("1"), 30);
  EXPECT_DOUBLE_EQ(minutes("1 expect=1h"), 30);
  EXPECT_DOUBLE_EQ(minutes("1 expect=10h"), 60);
  EXPECT_DOUBLE_EQ(minutes("1 expect=1000h"), 360);
}

TEST(Patience, CountsFromWhenTheJobCouldHaveStarted) {
  World world("1x1 cpu");
  const JobId job = world.submit("1 hold");
  world.advance(span("2h"));
  world.resume(job);
  EXPECT_EQ(read("10m").runs_out(world.job(job)), world.now() + span("10m"));
  world.start(job, 1);
  world.started(job);
  world.advance(span("1h"));
  world.ended(job, testing::ending("75"));
  ASSERT_EQ(world.job(job).state, JobState::pending);
  EXPECT_GE(read("10m").runs_out(world.job(job)), world.now() + span("10m"));
}

TEST(Patience, OrdersWaitingJobsByWhenItRunsOutLargerPrioritiesFirst) {
  World world("1x1 cpu");
  const JobId late = world.submit("1 expect=20h");
  world.advance(span("5m"));
  const JobId soon = world.submit("1");
  world.advance(span("5m"));
  const JobId urgent = world.submit("1 priority=60");
  const Patience patience;
  auto walk = world.state().waiting_by(patience.order()).walk();
  for (const JobId id : {urgent, soon, late}) {
    const OrderKey* key = walk.next(1);
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(key->job, id);
    EXPECT_NEAR(key->measure, to_seconds(patience.runs_out(world.job(id))), 1e-3);
  }
}

// All that is kept is free, and a neighbour is in the way: nothing changes from one look to the next.
TEST(Patience, LooksAtKeptSlotsThatDoNotFitFromTimeToTime) {
  World world("1x2 a rack=r; 1x1 b rack=r");
  const JobId other = world.run("1", 1);
  ASSERT_EQ(world.job(other).current->workers[0].seat.node, NodeId{1});
  const JobId first = world.run("1", 1);
  const JobId apart = world.submit("1 slots_per_worker=2 anti=job:prep:rack");
  const auto sjf = *PolicyRegistry().make("sjf", {{"patience", "10m"}});
  std::optional<Time> revisit;
  const auto round = [&] {
    world.round([&](const Snapshot& snapshot, Draft& draft) {
      sjf->decide(snapshot, draft);
      revisit = draft.awaited().revisit_at;
    });
  };
  world.advance(span("20m"));
  round();
  world.ended(other);
  world.run("1 name=prep", 1);
  world.ended(first);
  for (const char* passed : {"11m", "30m", "5h"}) {
    world.advance(span(passed));
    round();
    ASSERT_TRUE(reservation(world.state()));
    EXPECT_EQ(reservation(world.state())->job, apart);
    ASSERT_TRUE(revisit);
    EXPECT_GT(*revisit, world.now()) << "after " << passed;
  }
}

}  // namespace
}  // namespace paceline
