#include "scheduler/ahead.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::span;
using testing::World;

class AheadTest : public ::testing::Test {
 protected:
  // What a job like this one, which is not submitted, would meet.
  Ahead ahead(std::string_view policy, std::string_view literal) {
    World other("1x1 cpu", "fifo");
    const JobSpec spec = *other.job(other.submit(literal)).spec;
    const auto made = *PolicyRegistry().make(policy, {});
    return look_ahead({world->state().parts(), world->now(), *made, placer, Protects::no,
                       [this] { return world->now(); }},
                      spec);
  }

  std::optional<World> world{std::in_place, "1x1 cpu", "fifo"};
  PackPlacer placer;
};

TEST_F(AheadTest, AFreeSlotIsHadNowAtNobodysCost) {
  const Ahead one = ahead("fifo", "1 expect=10s");
  EXPECT_EQ(one.expected.start->at, world->now());
  EXPECT_EQ(one.expected.end->at, world->now() + span("10s"));
  EXPECT_FALSE(one.waits);
  EXPECT_THAT(one.delayed, IsEmpty());
}

TEST_F(AheadTest, TheLastInLineDelaysNobody) {
  const JobId first = world->run("1 expect=100s", 1);
  const Ahead one = ahead("fifo", "1 expect=10s");
  EXPECT_EQ(one.expected.start->at, world->now() + span("100s"));
  EXPECT_EQ(one.expected.after, first);
  EXPECT_EQ(one.waits->code, ReasonCode::waits_for_slots);
  EXPECT_THAT(one.delayed, IsEmpty());
}

TEST_F(AheadTest, WhoIsPassedByIsNamedWithTheDelay) {
  world->run("1 expect=100s", 1);
  const JobId second = world->submit("1 expect=60s");
  // Under sjf the shorter goes first.
  const Ahead one = ahead("sjf", "1 expect=10s");
  EXPECT_EQ(one.expected.start->at, world->now() + span("100s"));
  EXPECT_THAT(one.delayed, ElementsAre(Delayed{second, true, span("10s")}));
}

TEST_F(AheadTest, WhoIsStoppedIsAnEffect) {
  const JobId first = world->run("1 expect=100s", 1);
  const Ahead one = ahead("srtf", "1 expect=10s");
  ASSERT_THAT(one.effects, SizeIs(1));
  EXPECT_EQ(one.effects.front().job, first);
  EXPECT_THAT(one.delayed, ElementsAre(::testing::Field(&Delayed::job, first)));
  EXPECT_FALSE(one.delayed.front().starts) << "it ends later";
}

TEST_F(AheadTest, WhatWouldWaitIsToldItsPlaceInLine) {
  world->run("1 expect=100s", 1);
  const JobId second = world->submit("1 expect=60s priority=90");
  world->submit("1 expect=60s priority=10");
  const Ahead one = ahead("fifo", "1 expect=10s");
  EXPECT_EQ(one.position, 2U);
  ASSERT_THAT(one.jobs_ahead, SizeIs(1));
  EXPECT_EQ(one.jobs_ahead.front().job, second);
  EXPECT_EQ(one.jobs_ahead.front().waits.code, ReasonCode::waits_for_slots);
}

TEST_F(AheadTest, OfALongLineTheFirstAreNamed) {
  for (int i = 0; i < 9; ++i) world->submit("1 expect=60s");
  const Ahead one = ahead("fifo", "1 expect=10s");
  EXPECT_EQ(one.position, 10U);
  EXPECT_THAT(one.jobs_ahead, SizeIs(kJobsAheadMax));
  EXPECT_EQ(one.jobs_ahead.front().job, JobId{1});
}

TEST_F(AheadTest, WhatStartsOrIsHeldHasNoPlaceInLine) {
  EXPECT_EQ(ahead("fifo", "1 expect=10s").position, std::nullopt);
  const Ahead held = ahead("fifo", "1 hold");
  EXPECT_EQ(held.position, std::nullopt);
  EXPECT_EQ(held.waits->code, ReasonCode::held);
}

TEST_F(AheadTest, WhatWouldStartItSoonerIsPlayed) {
  world.emplace("1x4 cpu", "fifo");
  world->run("3 expect=100s", 3);
  EXPECT_THAT(ahead("fifo", "2 expect=10s").changes,
              ElementsAre(WhatIf{Changed::slots, 1, world->now()}));
  EXPECT_THAT(ahead("fifo", "1 expect=10s").changes, IsEmpty());
}

TEST_F(AheadTest, ManyWhoAreDelayedAreCounted) {
  for (int i = 0; i < 30; ++i) world->submit("1 expect=60s");
  const Ahead one = ahead("fifo", "1 expect=600s priority=90");
  EXPECT_THAT(one.delayed, SizeIs(kDelayedMax));
  EXPECT_EQ(one.other_delayed, 10U);
}

}  // namespace
}  // namespace paceline
