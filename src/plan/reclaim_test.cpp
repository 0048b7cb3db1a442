#include "plan/reclaim.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/check.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

// A job that has run for 30 s and never saved, and one that would start in its place.
class Reclaim : public ::testing::Test {
 protected:
  Reclaim() {
    world.tell(RulesSet{{span("10m")}});
    runs = world.run("1 retry=1", 1);
    world.advance(span("30s"));
    waits = world.submit("1");
  }

  Plan ask(std::optional<JobId> by) {
    return world.round([&](const Snapshot&, Draft& draft) {
      if (by) draft.ask(runs, *by);
    });
  }
  [[nodiscard]] Time may_stop() const { return may_stop_from(world.snapshot(), world.job(runs)); }
  [[nodiscard]] bool same_from_parts() const {
    return testing::differences(world.state(), State(world.state().parts())).empty();
  }

  World world{"1x1 cpu"};
  JobId runs, waits;
};

TEST_F(Reclaim, CountsFromTheFirstRoundThatWouldHaveStoppedIt) {
  EXPECT_EQ(may_stop(), world.now() + span("10m"));
  const Time asked = world.now();
  EXPECT_THAT(ask(waits).asked, ElementsAre(Asking{runs, waits, asked + span("10m")}));
  EXPECT_THAT(world.state().asked(), ElementsAre(runs));
  world.advance(span("4m"));
  EXPECT_THAT(ask(waits).asked, IsEmpty()) << "nothing is new";
  const JobId other = world.submit("1");
  EXPECT_THAT(ask(other).asked, ElementsAre(Asking{runs, other, asked + span("10m")}));
  EXPECT_EQ(may_stop(), asked + span("10m"));
  EXPECT_TRUE(must_be_asked(world.snapshot(), world.job(runs)));
  EXPECT_TRUE(same_from_parts());
  world.advance(span("6m"));
  EXPECT_FALSE(must_be_asked(world.snapshot(), world.job(runs)));
}

TEST_F(Reclaim, AsksForARoundWhenItMayBeStopped) {
  PackPlacer placer;
  Draft draft(world.snapshot(), placer);
  draft.ask(runs, waits);
  EXPECT_EQ(draft.awaited().revisit_at, world.now() + span("10m"));
}

TEST_F(Reclaim, IsForgottenOnceNobodyAsks) {
  ask(waits);
  world.advance(span("9m"));
  EXPECT_THAT(ask({}).asked, ElementsAre(Asking{runs, {}, {}}));
  EXPECT_THAT(world.state().asked(), IsEmpty());
  EXPECT_EQ(may_stop(), world.now() + span("10m"));
}

TEST_F(Reclaim, EndsWithACheckpointAndWithTheGang) {
  ask(waits);
  world.checkpoint(runs);
  EXPECT_EQ(may_stop(), world.now());
  EXPECT_THAT(world.state().asked(), IsEmpty());
  EXPECT_TRUE(same_from_parts());
}

TEST_F(Reclaim, EndsWhereItsOwnerOrItsFailureEndsIt) {
  ask(waits);
  world.ended(runs, testing::ending("1"));
  EXPECT_THAT(world.state().asked(), IsEmpty());
  world.advance(span("1m"));
  world.start(runs, 1);
  world.started(runs);
  EXPECT_EQ(may_stop(), world.now() + span("10m")) << "the next gang is asked anew";
  ask(waits);
  world.cancel(runs);
  EXPECT_THAT(world.state().asked(), IsEmpty());
}

TEST_F(Reclaim, APlanThatStopsItBeforeItsTimeIsRefused) {
  const auto stop = [&] { return world.preempt(runs, waits, 1); };
  EXPECT_THROW(stop(), std::logic_error);
  ask(waits);
  world.advance(span("599s"));
  EXPECT_THROW(stop(), std::logic_error);
  world.advance(span("1s"));
  EXPECT_EQ(stop().changes.size(), 2U);
}

TEST_F(Reclaim, IsOnlyOfJobsThatBeginAnewAndWhereARuleSaysSo) {
  EXPECT_TRUE(must_be_asked(world.snapshot(), world.job(runs)));
  world.tell(RulesSet{{Duration::zero()}});
  EXPECT_FALSE(must_be_asked(world.snapshot(), world.job(runs)));
  World of_old("1x1 cpu");
  EXPECT_FALSE(must_be_asked(of_old.snapshot(), of_old.job(of_old.run("1", 1))))
      << "a journal that tells of no rule";
  World willing("1x1 cpu");
  willing.tell(RulesSet{{span("10m")}});
  EXPECT_FALSE(must_be_asked(willing.snapshot(), willing.job(willing.run("1 elastic=restart", 1))));
}

TEST_F(Reclaim, OfAnAskingForAJobThatDoesNotRunNothingComes) {
  Plan plan;
  plan.round = world.state().round() + 1;
  plan.asked = {{waits, runs}};
  EXPECT_THAT(violations(world.snapshot(), plan), ElementsAre(HasSubstr("does not run")));
}

}  // namespace
}  // namespace paceline
