// Plans, folded: resizes, moves, preemptions, and the promises between them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/apply.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using testing::span;
using testing::World;

std::vector<std::uint32_t> slots_of(const Gang& gang) {
  std::vector<std::uint32_t> slots;
  for (const auto& worker : gang.workers)
    slots.insert(slots.end(), worker.seat.slots.begin(), worker.seat.slots.end());
  return slots;
}

TEST(OtherRules, APlanThatDoesNotFitIsPassedOverAndTold) {
  World world("1x4 cpu");
  const JobId a = world.run("1..2", 2);
  const Entry started = world.journal()[world.journal().size() - 3];
  ASSERT_TRUE(std::holds_alternative<Plan>(started.body));
  State state(world.state().parts());
  Entry again{state.seq() + 1, state.at(), started.body};
  again.began.emplace().rules = kFoldRules + 1;
  std::get<Plan>(again.body).round = 7;
  apply(state, again);
  EXPECT_THAT(state.misfit(), ::testing::HasSubstr("job 1"));
  EXPECT_EQ(state.round(), 7U);
  EXPECT_EQ(state.job(a), world.job(a));
  EXPECT_EQ(state.parts().fold_rules, kFoldRules + 1) << "and it is kept with the checkpoint";

  apply(state, {state.seq() + 1, state.at(), Plan{8, "fifo", "test", {}, {}, {}, {}}});
  EXPECT_EQ(state.misfit(), "") << "one that fits is folded";
  EXPECT_EQ(state.round(), 8U);
}

TEST(OtherRulesDeathTest, UnderTheProgramsOwnRulesEveryPlanFits) {
  World world("1x4 cpu");
  world.run("1..2", 2);
  const Entry started = world.journal()[world.journal().size() - 3];
  EXPECT_DEATH(world.fold(started.body), "waiting job");
}

TEST(Resize, FormsTheNextGenerationAndSwitchesOnceTheOldOneIsGone) {
  World world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  world.change_size(a, 4);
  const Job& job = world.job(a);
  EXPECT_EQ(job.state, JobState::resizing);
  EXPECT_EQ(job.current->generation, Generation{1});
  EXPECT_EQ(job.current->stop->cause, Cause::resized);
  EXPECT_EQ(job.forming->generation, Generation{2});
  EXPECT_EQ(world.state().slots_leased(),
            4);  // two still run, two are leased to the next generation
  world.ended(a, 0, ending("signal 15"));
  EXPECT_TRUE(job.forming.has_value());
  world.ended(a, 1, ending("signal 15"));
  EXPECT_FALSE(job.forming);
  EXPECT_EQ(job.current->generation, Generation{2});
  EXPECT_EQ(job.state, JobState::resizing);
  world.started(a);
  EXPECT_EQ(job.state, JobState::running);
  EXPECT_EQ(job.attempt, 2);
  EXPECT_EQ(job.resizes, 1);
}

TEST(Resize, KeepsTheSeatsItCanAndThePlaceInTheQueue) {
  World world("1x8 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  const JobId b = world.run("1..4 elastic=restart", 1);
  world.change_size(a, 3);
  EXPECT_THAT(slots_of(*world.job(a).forming), ElementsAre(0, 1, 3));
  world.killed(a);
  world.started(a);
  std::vector<JobId> order;
  for (const auto& key : world.state().active()) order.push_back(key.job);
  EXPECT_THAT(order, ElementsAre(a, b));
}

TEST(Resize, NeverUsesAGenerationTwice) {
  World world("1x8 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  world.change_size(a, 4);
  world.cancel(a);  // generation 2 never ran
  world.killed(a);
  EXPECT_EQ(world.job(a).last_generation, Generation{2});
  const JobId b = world.run("1..4 elastic=restart retry=1", 1);
  world.ended(b, ending("1"));
  world.advance(kBackoffFirst);
  world.start(b, 1);
  EXPECT_EQ(world.job(b).current->generation, Generation{2});
}

TEST(Resize, IsOverIfTheJobIsDoneInstead) {
  World world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  world.change_size(a, 4);
  world.ended(a);
  EXPECT_EQ(world.job(a).state, JobState::completed);
  EXPECT_EQ(world.state().free_slots().total(), 4U);
}

TEST(Resize, GoesOnAfterAWorkerOfTheOldGenerationWasLost) {
  World world("2x2 cpu");
  const JobId a = world.run("1..4 elastic=restart", 3);
  world.change_size(a, 2);
  world.ended(a, 2, ending("node_lost"));
  world.killed(a);
  EXPECT_EQ(world.job(a).state, JobState::resizing);
  EXPECT_EQ(world.job(a).current->generation, Generation{2});
}

TEST(Promise, BecomesALeaseWhenTheSlotIsEmpty) {
  World world("1x4 cpu");
  const JobId a = world.run("4..4", 4);
  const JobId b = world.submit("2..2");
  world.preempt(a, b, 2);
  EXPECT_EQ(world.job(a).state, JobState::stopping);
  EXPECT_EQ(world.job(a).current->stop->beneficiary, b);
  EXPECT_EQ(world.job(b).state, JobState::starting);
  EXPECT_FALSE(world.job(b).current);
  EXPECT_EQ(world.job(b).leased, 0);
  EXPECT_EQ(world.state().slot({NodeId{0}, 0}).promise, (ProcessKey{b, Generation{1}, 0}));
  world.ended(a, 0, ending("signal 15"));
  EXPECT_EQ(world.job(b).leased, 1);
  EXPECT_FALSE(world.job(b).current);
  world.ended(a, 1, ending("signal 15"));
  EXPECT_THAT(world.touched(), ElementsAre(a, b));
  ASSERT_TRUE(world.job(b).current.has_value());  // all its seats are leased: it may start while
                                                  // the rest of a leaves
  world.killed(a);
  world.started(b);
  EXPECT_EQ(world.job(b).state, JobState::running);
  EXPECT_EQ(world.job(a).state, JobState::pending);
}

TEST(Promise, IsNotGivenToAnotherJobInALaterRound) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.run("4..4", 4);
  const JobId b = world.submit("2..2");
  world.preempt(a, b, 2);
  const JobId c = world.submit("1..1 priority=100");
  EXPECT_TRUE(
      world.round().changes.empty());  // two slots end for nobody yet, two for b: none is free
  world.ended(a, 2, ending("signal 15"));
  EXPECT_EQ(world.round().changes.size(), 1U);
  EXPECT_THAT(slots_of(*world.job(c).current), ElementsAre(2));
  world.killed(a);
  EXPECT_THAT(slots_of(*world.job(b).current), ElementsAre(0, 1));
}

TEST(Promise, FallsAwayWithItsBeneficiary) {
  World world("1x4 cpu");
  const JobId a = world.run("4..4", 4);
  const JobId b = world.submit("2..2");
  world.preempt(a, b, 2);
  world.ended(a, 0, ending("signal 15"));
  world.cancel(b);
  EXPECT_EQ(world.job(b).state, JobState::cancelled);
  EXPECT_EQ(world.state().slot({NodeId{0}, 1}).promise, std::nullopt);
  EXPECT_TRUE(world.state().free_slots().is_free({NodeId{0}, 0}));
  EXPECT_FALSE(world.state().free_slots().is_free({NodeId{0}, 1}));
  world.killed(a);
  EXPECT_EQ(world.state().free_slots().total(), 4U);
}

TEST(Promise, BetweenTwoResizesEmptiesInAnyOrder) {
  for (const bool giver_first : {true, false}) {
    World world("1x4 cpu");
    const JobId giver = world.run("1..3 elastic=restart", 3);
    const JobId beneficiary = world.run("1..3 elastic=restart", 1);
    world.round([&](const Snapshot&, Draft& draft) {
      draft.resize(giver, *draft.refit(giver, 1), {ReasonCode::shrinks_to_share, {3, 1}, {}});
      draft.resize(beneficiary, *draft.refit(beneficiary, 3), {ReasonCode::grows, {1, 3}, {}});
    });
    world.killed(giver_first ? giver : beneficiary);
    world.killed(giver_first ? beneficiary : giver);
    world.started(giver);
    world.started(beneficiary);
    EXPECT_EQ(world.job(giver).state, JobState::running);
    EXPECT_EQ(world.job(beneficiary).workers(), 3);
    EXPECT_EQ(world.state().slots_leased(), 4);
  }
}

TEST(Move, IsAResizeToTheSameSizeOnOtherSeats) {
  World world("2x2 cpu");
  const JobId a = world.run("2..2 elastic=restart", 2);
  const Plan plan = world.round([&](const Snapshot& snapshot, Draft& draft) {
    draft.resize(a, seats_on(snapshot.state.free_slots(), NodeId{1}, 2, 1),
                 {ReasonCode::script, {}, "moves"});
  });
  EXPECT_EQ(plan.changes[0].kind, ChangeKind::move);
  world.killed(a);
  EXPECT_EQ(world.job(a).current->workers[0].seat.node, NodeId{1});
  EXPECT_EQ(world.state().free_slots().free_on(NodeId{0}), 2U);
}

TEST(Plan, IsRememberedByTheJobsItChanges) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.submit("2..2");
  world.round();
  EXPECT_EQ(world.job(a).last_change, (Reason{ReasonCode::starts, {2}, {}}));
  EXPECT_EQ(world.job(a).last_changed_at, world.now());
  EXPECT_EQ(world.state().round(), 1U);
}

TEST(Plan, ChangesTheMemoByItsDifference) {
  World world("1x4 cpu");
  const auto remember = [&](std::map<std::string, std::string> memo) {
    world.round([&](const Snapshot&, Draft& draft) {
      for (const auto& [key, value] : memo) draft.remember(key, value);
    });
  };
  remember({{"a", "1"}, {"b", "2"}});
  remember({{"a", ""}, {"c", "3"}});
  EXPECT_EQ(world.state().memo(), (std::map<std::string, std::string>{{"b", "2"}, {"c", "3"}}));
}

// Two jobs on four slots, every sum by hand.
TEST(Sums, AreExact) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..4 elastic=restart retry=1");
  world.advance(span("5s"));  // a waits 5
  world.start(a, 2);
  world.advance(span("2s"));  // a starts 2, 2 slots: 4
  world.started(a);
  world.advance(span("10s"));  // a runs 10, 2 slots: 20
  world.checkpoint(a);
  world.advance(span("3s"));  // a runs 3, 2 slots: 6; not saved
  world.change_size(a, 4);    // bill: (3 s not saved) × 2 slots = 6 once it is over
  world.advance(span("4s"));  // a resizes 4, 4 slots: 16; bill 16
  world.killed(a);
  world.started(a);
  EXPECT_DOUBLE_EQ(world.job(a).bill.resize, 6 + 16);
  world.advance(span("20s"));  // a runs 20, 4 slots: 80
  const JobId b = world.submit("4..4");
  world.preempt(a, b, 4);     // bill: 20 s since generation 2 started × 4 = 80
  world.advance(span("6s"));  // a stops 6, 4 slots: 24; bill 24. b starts 6
  world.killed(a);
  EXPECT_DOUBLE_EQ(world.job(a).bill.preemption, 80 + 24);
  world.started(b);
  world.advance(span("7s"));  // a waits 7; b runs 7, 4 slots: 28
  world.ended(b);
  world.start(a, 1);
  world.started(a);
  world.advance(span("50s"));   // a runs 50, 1 slot: 50
  world.ended(a, ending("1"));  // bill: 50 × 1
  const Job& job = world.job(a);
  EXPECT_EQ(job.waited, span("14s"));       // 5 + 2 + 7
  EXPECT_EQ(job.ran, span("93s"));          // 10 + 3 + 4 + 20 + 6 + 50
  EXPECT_DOUBLE_EQ(job.slot_seconds, 200);  // 4 + 20 + 6 + 16 + 80 + 24 + 50
  EXPECT_DOUBLE_EQ(job.bill.resize, 22);
  EXPECT_DOUBLE_EQ(job.bill.preemption, 104);
  EXPECT_DOUBLE_EQ(job.bill.failure, 50);
  // Each of the two plans that cost anything has its own part; starts and failures are on neither.
  const auto& bills = world.state().bills();
  ASSERT_EQ(bills.size(), 2U);
  EXPECT_EQ(bills[0].lost, (Bill{0, 22, 0}));
  EXPECT_EQ(bills[1].lost, (Bill{104, 0, 0}));
  EXPECT_LT(bills[0].round, bills[1].round);
  EXPECT_EQ(world.job(b).waited, span("6s"));
  EXPECT_DOUBLE_EQ(world.job(b).slot_seconds, 28);
}

TEST(Sums, OfAFailedGangHoldWhatItLostAndWhatItTookToLeave) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2 retry=1", 2);
  world.advance(span("40s"));
  world.ended(a, 0, ending("1"));  // 40 s × 2 slots lost
  world.advance(span("3s"));       // the other leaves: 3 s × 1 slot
  world.killed(a);
  EXPECT_DOUBLE_EQ(world.job(a).bill.failure, 80 + 3);
}

}  // namespace
}  // namespace paceline
