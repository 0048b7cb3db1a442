#include "plan/lending.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/apply.hpp"
#include "plan/check.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

// A job that has run for 30 s, ten of them since it saved, then lent both its slots.
class Lending : public ::testing::Test {
 protected:
  Lending() {
    giver = world.run("1 slots_per_worker=2 memory=4 retry=1", 1);
    world.advance(span("20s"));
    world.checkpoint(giver);
    world.advance(span("10s"));
    other = world.submit("2");
    world.lend(giver, other, 2);
  }

  void expect_same_from_parts() {
    EXPECT_THAT(testing::differences(world.state(), State(world.state().parts())), IsEmpty());
  }
  std::optional<Placement> fit(JobId job, std::int32_t workers) {
    const Draft draft(world.snapshot(), placer);
    return draft.fit(job, workers);
  }
  const Job& job() { return world.job(giver); }

  World world{"1x2 cpu memory=16; 1x2 cpu memory=4"};
  PackPlacer placer;
  JobId giver, other;
};

TEST(MayLend, AJobOfOneWorkerOnProcessorSlotsWithMemoryThatIsKnown) {
  World world("1x2 cpu memory=16; 1x4 cpu; 1x2 a100 memory=16");
  const auto may = [&](std::string_view literal, std::int32_t workers) {
    const JobId id = world.run(literal, workers);
    const bool lends = may_lend(world.state(), world.job(id));
    world.ended(id);
    return lends;
  };
  EXPECT_TRUE(may("1 memory=4 devices=cpu", 1));
  EXPECT_TRUE(may("1 memory=4 slots_per_worker=2 devices=cpu", 1));
  EXPECT_FALSE(may("2 memory=4 devices=cpu", 2)) << "its workers would give each other up";
  EXPECT_FALSE(may("1 devices=cpu", 1)) << "nobody knows what it keeps";
  EXPECT_FALSE(may("1 memory=4 devices=a100", 1)) << "it would keep the device's memory";
  const JobId starting = world.submit("1 memory=4 devices=cpu");
  world.start(starting, 1);
  EXPECT_FALSE(may_lend(world.state(), world.job(starting)));
  world.run("1 devices=cpu", 1);
  EXPECT_FALSE(may("1 memory=4 devices=cpu", 1)) << "nobody knows what its node has";
}

TEST_F(Lending, FreesTheSlotsAndKeepsTheGang) {
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_TRUE(job().lends());
  EXPECT_FALSE(job().seated());
  EXPECT_EQ(job().leased, 0);
  EXPECT_EQ(job().workers(), 0);
  EXPECT_EQ(job().preemptions, 1);
  EXPECT_EQ(job().current->generation, Generation{1});
  EXPECT_EQ(world.job(other).state, JobState::starting);
  EXPECT_EQ(world.state().slots_leased(), 2);
  EXPECT_EQ(world.state().slot({NodeId{0}, 1}).lent, (ProcessKey{giver, Generation{1}, 0}));
  EXPECT_EQ(beneficiary_of(world.state(), job()), other);
  EXPECT_TRUE(world.state().waiting().contains(queue_key(job())));
  EXPECT_FALSE(world.state().active().contains(queue_key(job())));
  expect_same_from_parts();
}

TEST_F(Lending, LosesNoWork) {
  world.started(other);
  world.advance(span("60s"));
  world.ended(other);
  world.start(giver, 1);
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->generation, Generation{1});
  EXPECT_EQ(job().current->started_at, world.now());
  EXPECT_EQ(world.state().slot({NodeId{0}, 1}).lent, std::nullopt);
  EXPECT_EQ(job().waited, span("60s"));
  EXPECT_EQ(job().ran, span("30s"));
  EXPECT_DOUBLE_EQ(job().bill.total(), 0);
  EXPECT_DOUBLE_EQ(job().slot_seconds, 60);
  world.advance(span("5s"));
  EXPECT_EQ(job().unsaved(world.now()), span("15s")) << "what it had not saved before, too";
  world.checkpoint(giver);
  EXPECT_EQ(job().unsaved(world.now()), span("0s"));
  world.ended(giver);
  EXPECT_EQ(job().state, JobState::completed);
  expect_same_from_parts();
}

TEST_F(Lending, StaysFrozenUntilItsSlotsAreEmpty) {
  world.started(other);
  world.preempt(other, giver, 1);
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_TRUE(job().seated());
  EXPECT_FALSE(world.state().waiting().contains(queue_key(job()))) << "it is on its way";
  world.killed(other, 0);
  EXPECT_EQ(job().state, JobState::paused);
  expect_same_from_parts();
  world.killed(other, 1);
  EXPECT_EQ(job().state, JobState::running);
  expect_same_from_parts();
}

TEST_F(Lending, OnItsWayBackLetsGoOfTheSlotsWhereItsOwnerHoldsIt) {
  world.started(other);
  world.preempt(other, giver, 1);
  world.killed(other, 0);
  world.pause(giver);
  EXPECT_TRUE(job().held);
  EXPECT_EQ(job().leased, 0);
  world.killed(other, 1);
  EXPECT_EQ(job().state, JobState::paused);
  world.resume(giver);
  EXPECT_EQ(job().state, JobState::paused) << "a plan gives it slots, not its owner";
  world.start(giver, 1);
  EXPECT_EQ(job().state, JobState::running);
  expect_same_from_parts();
}

TEST_F(Lending, AJobThatDiesFrozenTakesNothingFromTheJobInItsSlots) {
  world.started(other);
  world.ended(giver, ending("signal 9"));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 1);
  EXPECT_EQ(world.job(other).state, JobState::running);
  EXPECT_EQ(world.job(other).leased, 2);
  EXPECT_EQ(world.state().slot({NodeId{0}, 0}).lent, std::nullopt);
  EXPECT_DOUBLE_EQ(job().bill.failure, 2 * 10) << "no second of the pause";
  expect_same_from_parts();
}

TEST_F(Lending, AJobThatDiesOnItsWayBackGivesTheSlotsUp) {
  world.started(other);
  world.preempt(other, giver, 1);
  world.killed(other, 0);
  world.ended(giver, ending("signal 9"));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(world.state().slots_leased(), 1);
  world.killed(other, 1);
  EXPECT_EQ(world.state().slots_leased(), 0);
  expect_same_from_parts();
}

TEST_F(Lending, ACancelEndsItThoughOthersHaveItsSlots) {
  world.started(other);
  world.cancel(giver);
  EXPECT_EQ(job().state, JobState::stopping);
  expect_same_from_parts();
  world.killed(giver);
  EXPECT_EQ(job().state, JobState::cancelled);
  EXPECT_EQ(world.job(other).leased, 2);
}

TEST_F(Lending, ItsNodeLostItStartsFromItsCheckpoint) {
  world.started(other);
  world.node_lost("cpu-0");
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 0);
  expect_same_from_parts();
}

TEST_F(Lending, WaitsForItsOwnAsLongAsStartingAnewWouldCost) {
  world.started(other);
  EXPECT_EQ(waits_for_own_until(job()), world.now() + span("10s"));
  world.advance(span("9s"));
  {
    const Draft draft(world.snapshot(), placer);
    EXPECT_FALSE(draft.fit(giver, 1).has_value());
    EXPECT_EQ(draft.awaited().revisit_at, world.now() + span("1s"));
  }
  world.advance(span("1s"));
  world.start(giver, 1);
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_EQ(job().forming->workers[0].seat.node, NodeId{1});
  world.killed(giver);
  world.started(giver);
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_DOUBLE_EQ(job().bill.resize, 2 * 10);
  expect_same_from_parts();
}

TEST_F(Lending, OnAMachineThatIsNotHeardItWaitsWhateverItsOwnerAsksFor) {
  world.started(other);
  world.node_down("cpu-0");
  world.advance(span("1h"));
  EXPECT_EQ(fit(giver, 1), std::nullopt);
  world.resize(giver, "2..2");
  EXPECT_EQ(fit(giver, 2), std::nullopt);
}

TEST_F(Lending, StartsAnewAtOnceWhereItsOwnerAsksForAnotherSize) {
  world.started(other);
  world.ended(other);
  world.resize(giver, "2..2");
  EXPECT_EQ(frozen_workers(job()), std::nullopt);
  EXPECT_EQ(fit(giver, 2)->size(), 2U);
}

TEST_F(Lending, KeepsItsMemory) {
  world.started(other);
  world.ended(other);
  EXPECT_EQ(fit(world.submit("1 memory=12"), 1).value()[0].node, NodeId{0});
  EXPECT_FALSE(fit(world.submit("1 memory=13"), 1).has_value());
  const JobId large = world.run("1 memory=12", 1);
  EXPECT_FALSE(may_lend(world.state(), world.job(large))) << "a slot is lent once at a time";
}

TEST_F(Lending, IsNeitherStartedNorPausedByAPlanThatSaysSo) {
  world.started(other);
  world.ended(other);
  const auto found = [&](ChangeKind kind, Placement seats) {
    Plan plan;
    plan.changes = {
        {kind, giver, Generation{1}, std::move(seats), {ReasonCode::script, {}, "because"}, 1, {}}};
    if (kind == ChangeKind::start) plan.changes[0].generation = Generation{10};
    return violations(world.snapshot(), plan);
  };
  const Placement own{{NodeId{0}, {0, 1}}}, elsewhere{{NodeId{1}, {0, 1}}};
  EXPECT_THAT(found(ChangeKind::resume, own), IsEmpty());
  world.tell(JournalAccepted{1, Generation{9}});
  EXPECT_THAT(found(ChangeKind::resume, own), IsEmpty()) << "it stays in its generation";
  EXPECT_THAT(found(ChangeKind::start, own), ElementsAre("job 1 is PAUSED, no start"));
  EXPECT_THAT(found(ChangeKind::resume, elsewhere),
              ElementsAre("job 1 can go on only where it was frozen"));
  EXPECT_THAT(found(ChangeKind::pause, {}), ElementsAre("job 1 is paused and can't lend its slots",
                                                        "the pause of job 1 is for nobody"));
}

}  // namespace
}  // namespace paceline
