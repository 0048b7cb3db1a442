#include "plan/draft.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/check.hpp"
#include "plan/decide.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

const Reason kDraftReason{ReasonCode::script, {}, "because"};

class DraftTest : public ::testing::Test {
 protected:
  void try_start(Draft& draft, JobId job, std::int32_t workers) {
    draft.start(job, draft.fit(job, workers).value(), kDraftReason);
  }
  // What one draft decides now.
  Plan plan(const World::Decide& decide, Protects protects = Protects::no) {
    return world.plan(decide, protects);
  }

  World world{"2x4 cpu"};
  PackPlacer placer;
};

TEST_F(DraftTest, TakesBackNoSlotsThatAreGone) {
  const JobId a = world.run("1..8 elastic=restart", 8);
  world.checkpoint(a);
  for (const NodeId node : {NodeId{0}, NodeId{1}}) {
    NodeSpec spec = world.state().nodes()[node.value].spec;
    spec.slots.resize(node.value == 0 ? 3 : 1);
    world.tell(NodeUp{node, spec});
  }
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_EQ(draft.refit(a, 5), std::nullopt);
    draft.resize(a, draft.refit(a, 4).value(), kDraftReason);
  });
}

TEST_F(DraftTest, WhatBreaksNothingIsDoneBesideWhatDoes) {
  const JobId runs = world.run("2..2", 2);
  const JobId starts = world.submit("3..3"), waits = world.submit("8..8");
  const JobId another = world.submit("1..1");
  const Snapshot snapshot = world.snapshot();
  const auto some_wrong = [&](const Snapshot&, Draft& draft) -> Result<void> {
    try_start(draft, starts, 3);
    draft.stop(runs, kDraftReason, waits);  // that never saved, for one that gets nothing
    draft.begin_trade();
    draft.start(another, draft.fit(another, 1).value(), kDraftReason);
    draft.count_anew(runs);  // does not wait
    draft.end_trade();
    return {};
  };
  std::vector<std::string> left_out;
  const auto decided = [&](std::vector<std::string>* wrong) {
    Draft draft(snapshot, placer);
    return decide(draft, some_wrong, wrong);
  };
  EXPECT_FALSE(decided(nullptr));
  const auto plan = decided(&left_out);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->changes.size(), 2U);
  EXPECT_EQ(plan->changes[0].job, starts);
  EXPECT_EQ(plan->changes[1].job, another);
  EXPECT_THAT(plan->counted_anew, IsEmpty());
  EXPECT_THAT(violations(snapshot, *plan), IsEmpty());
  EXPECT_THAT(left_out, ::testing::Contains(HasSubstr("which gets nothing")));
}

TEST_F(DraftTest, FitsOnlyWhatIsFreeInTheDraft) {
  const JobId a = world.submit("6..6");
  const JobId b = world.submit("3..3");
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_EQ(draft.free().total(), 8U);
    try_start(draft, a, 6);
    EXPECT_EQ(draft.free().total(), 2U);
    EXPECT_EQ(draft.fit(b, 3), std::nullopt);
    EXPECT_EQ(draft.fit(b, 2)->size(), 2U);
    EXPECT_EQ(draft.workers(a), 6);
    EXPECT_TRUE(draft.changed(a));
    EXPECT_FALSE(draft.changed(b));
  });
}

TEST_F(DraftTest, LeavesTheStateAsItWas) {
  const JobId a = world.run("2..2 elastic=restart", 2);
  const JobId b = world.submit("1..1");
  const State before(world.state().parts());
  plan([&](const Snapshot&, Draft& draft) {
    draft.stop(a, kDraftReason, b);
    try_start(draft, b, 1);
  });
  EXPECT_THAT(testing::differences(world.state(), before), IsEmpty());
}

TEST_F(DraftTest, NumbersTheNextGenerationAndNamesAStopsOwn) {
  const JobId a = world.run("1..4 elastic=restart", 2);
  const JobId b = world.run("2..2", 2);
  const JobId c = world.submit("3..3");
  const Plan made = plan([&](const Snapshot&, Draft& draft) {
    draft.resize(a, draft.refit(a, 1).value(), kDraftReason);
    draft.stop(b, kDraftReason, c);
    try_start(draft, c, 3);
  });
  EXPECT_EQ(made.round, world.state().round() + 1);
  EXPECT_EQ(made.changes[0].generation, Generation{2});
  EXPECT_EQ(made.changes[1].generation, Generation{1});
  EXPECT_EQ(made.changes[2].generation, Generation{1});
  EXPECT_EQ(made.changes[1].beneficiary, c);
  EXPECT_EQ(
      std::set<std::uint32_t>({made.changes[0].trade, made.changes[1].trade, made.changes[2].trade})
          .size(),
      3U);
}

TEST_F(DraftTest, KeepsATradeWholeUnderOneNumber) {
  const JobId a = world.run("8..8", 8);
  const JobId b = world.submit("4..4");
  const Plan made = plan([&](const Snapshot&, Draft& draft) {
    draft.begin_trade();
    draft.stop(a, kDraftReason, b);
    try_start(draft, b, 4);
    draft.end_trade();
  });
  EXPECT_EQ(made.changes[0].trade, made.changes[1].trade);
}

TEST_F(DraftTest, DropsATradeAsIfItHadNeverBeenBegun) {
  const JobId a = world.run("8..8", 8);
  const JobId b = world.submit("4..4");
  const Plan made = plan([&](const Snapshot&, Draft& draft) {
    draft.remember("turn", "1");
    draft.begin_trade();
    draft.stop(a, kDraftReason, b);
    try_start(draft, b, 4);
    draft.remember("turn", "2");
    draft.remember("more", "x");
    draft.drop_trade();
    EXPECT_EQ(draft.free().total(), 0U);
    EXPECT_FALSE(draft.changed(a));
    EXPECT_EQ(draft.workers(a), 8);
  });
  EXPECT_THAT(made.changes, IsEmpty());
  EXPECT_EQ(made.memo, (std::map<std::string, std::string>{{"turn", "1"}}));
}

TEST_F(DraftTest, KeepsAnEmptyTrade) {
  const JobId a = world.submit("1..1");
  const Plan made = plan([&](const Snapshot&, Draft& draft) {
    draft.begin_trade();
    draft.end_trade();
    try_start(draft, a, 1);
  });
  EXPECT_EQ(made.changes.size(), 1U);
}

TEST_F(DraftTest, AsksWhetherAJobMayChangeWithoutChangingIt) {
  const JobId a = world.run("1..4 elastic=restart min_run=30s", 2);
  const Time from = world.now() + span("30s");
  plan(
      [&](const Snapshot&, Draft& draft) {
        EXPECT_FALSE(draft.affords(a, ChangeKind::resize));
        EXPECT_EQ(draft.awaited().revisit_at, std::nullopt);
        EXPECT_FALSE(draft.may_change(a, ChangeKind::resize, 4, Owed::yes));
        EXPECT_EQ(draft.awaited().revisit_at, from);
        EXPECT_EQ(draft.refused().at(a),
                  (Reason{ReasonCode::waits_for_window, {4, to_us(from)}, {}}));
        EXPECT_FALSE(draft.changed(a));
      },
      Protects::yes);
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_TRUE(draft.may_change(a, ChangeKind::resize, 4, Owed::no));
  });
  world.advance(span("30s"));
  plan([&](const Snapshot&,
           Draft& draft) { EXPECT_TRUE(draft.may_change(a, ChangeKind::resize, 4, Owed::no)); },
       Protects::yes);
}

// Of seed 20028972: its gang was never seen to leave, and what it was to have stood idle.
TEST_F(DraftTest, GivesNoOtherSeatsToAGangThatIsNotHeardAsAWhole) {
  const JobId a = world.run("1..8 elastic=restart", 5);
  world.advance(span("1h"));
  world.checkpoint(a);
  world.node_down("cpu-1");
  for (const Protects protects : {Protects::no, Protects::yes}) {
    plan(
        [&](const Snapshot&, Draft& draft) {
          EXPECT_FALSE(draft.may_change(a, ChangeKind::resize, 3, Owed::yes));
          EXPECT_FALSE(draft.affords(a, ChangeKind::move));
          EXPECT_EQ(draft.refused().at(a), (Reason{ReasonCode::waits_for_node, {3}, "cpu-1"}));
          EXPECT_THAT(draft.awaited().saves, IsEmpty()) << "a checkpoint changes nothing";
          EXPECT_TRUE(draft.may_change(a, ChangeKind::stop, 0, Owed::yes));
        },
        protects);
  }
  world.node_up("cpu-1");
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_TRUE(draft.may_change(a, ChangeKind::resize, 3, Owed::yes));
  });
}

TEST_F(DraftTest, AnOwnersResizeWaitsForTheMachineThatIsNotHeard) {
  const JobId a = world.run("1..8 elastic=restart", 5);
  world.checkpoint(a);
  world.node_down("cpu-1");
  world.resize(a, "2..2");
  {
    Draft draft(world.snapshot(), placer);
    draft.explain();
    const auto made = decide(draft, [](const Snapshot&, Draft&) -> Result<void> { return {}; });
    EXPECT_THAT(made.value().changes, IsEmpty());
    EXPECT_EQ(draft.waits().at(a), (Reason{ReasonCode::waits_for_node, {2}, "cpu-1"}));
  }
  world.node_up("cpu-1");
  EXPECT_EQ(plan([](const Snapshot&, Draft&) {}).changes.size(), 1U);
}

TEST_F(DraftTest, AwaitsTheFirstCheckpointOfAJobThatWouldLoseEverything) {
  const JobId a = world.run("2", 2);
  world.advance(span("1h"));
  plan(
      [&](const Snapshot&, Draft& draft) {
        EXPECT_TRUE(draft.may_change(a, ChangeKind::stop, 0, Owed::yes))
            << "it is asked first (plan/reclaim.hpp)";
        EXPECT_FALSE(draft.may_change(a, ChangeKind::stop, 0, Owed::no));
        EXPECT_EQ(draft.refused().at(a).code, ReasonCode::waits_for_checkpoint);
        EXPECT_THAT(draft.awaited().saves, ElementsAre(a));
        EXPECT_EQ(draft.awaited().revisit_at, std::nullopt);
      },
      Protects::yes);
}

TEST_F(DraftTest, AwaitsNothingOfAJobThatMayLoseNothing) {
  const JobId a = world.run("1..4@2 elastic=restart stop_loss=0%", 2);
  world.advance(span("1h"));
  world.checkpoint(a);
  world.change_size(a, 1);
  world.advance(span("30s"));
  world.killed(a);
  world.started(a);
  world.advance(span("1h"));
  plan(
      [&](const Snapshot&, Draft& draft) {
        EXPECT_FALSE(draft.may_change(a, ChangeKind::stop, 0, Owed::no));
        EXPECT_FALSE(draft.refused().contains(a)) << "a checkpoint changes nothing";
        EXPECT_THAT(draft.awaited().saves, IsEmpty());
      },
      Protects::yes);
}

TEST_F(DraftTest, TakesThePolicysWordForWhatJobsMayLose) {
  const JobId a = world.run("2", 2);
  world.advance(span("1h"));
  plan(
      [&](const Snapshot&, Draft& draft) {
        EXPECT_FALSE(draft.may_change(a, ChangeKind::stop, 0, Owed::no)) << "it never saved";
        draft.limit_losses({1, 1});
        EXPECT_TRUE(draft.may_change(a, ChangeKind::stop, 0, Owed::no));
      },
      Protects::yes);
}

TEST_F(DraftTest, GivesARefitTheJobsOwnSlots) {
  const JobId a = world.run("1..8 elastic=restart", 6);
  const JobId b = world.run("2..2", 2);
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_EQ(draft.refit(a, 6)->size(), 6U);
    EXPECT_EQ(draft.refit(a, 7), std::nullopt);
    draft.stop(b, kDraftReason, a);
    EXPECT_EQ(draft.refit(a, 8)->size(), 8U);
    draft.resize(a, draft.refit(a, 8).value(), kDraftReason);
  });
}

// Only so many are looked at: a job that could never start counts, and leaves nobody slots.
TEST_F(DraftTest, AJobLeavesSlotsToOneOfTheFirstSixteenInLine) {
  const JobId grows = world.run("1..2 elastic=restart", 1);
  for (int i = 0; i < 15; ++i) world.submit("9 priority=90");
  const JobId sixteenth = world.submit("8 priority=80");
  const auto grown = [&](Draft& draft) {
    draft.keep_line();
    return draft.refit(grows, 2).has_value();
  };
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_FALSE(grown(draft));
    EXPECT_EQ(draft.leaves_slots().at(grows), sixteenth);
  });
  world.submit("9 priority=90");
  plan([&](const Snapshot&, Draft& draft) {
    EXPECT_TRUE(grown(draft)) << "the job that is short of slots is the seventeenth";
  });
}

TEST_F(DraftTest, FreesNoSlotOfANodeThatIsDown) {
  const JobId a = world.run("8..8 elastic=restart", 8);
  world.node_down("cpu-1");
  const JobId b = world.submit("4..4");
  plan([&](const Snapshot&, Draft& draft) {
    draft.begin_trade();
    draft.stop(a, kDraftReason, b);
    EXPECT_EQ(draft.free().total(), 4U);
    draft.drop_trade();
    EXPECT_EQ(draft.free().total(), 0U);
  });
}

TEST_F(DraftTest, RemembersOnlyWhatIsNew) {
  world.round([](const Snapshot&, Draft& draft) { draft.remember("turn", "1"); });
  const Plan made = plan([](const Snapshot&, Draft& draft) {
    EXPECT_EQ(draft.memo("turn"), "1");
    EXPECT_EQ(draft.memo("other"), "");
    draft.remember("turn", "1");
    EXPECT_EQ(draft.memo("turn"), "1");
  });
  EXPECT_THAT(made.memo, IsEmpty());
}

TEST_F(DraftTest, IsRevisitedAtTheEarliestTimeAskedFor) {
  plan([&](const Snapshot& snapshot, Draft& draft) {
    EXPECT_EQ(draft.awaited().revisit_at, std::nullopt);
    draft.revisit(snapshot.now + span("5s"));
    draft.revisit(snapshot.now + span("2s"));
    draft.revisit(snapshot.now + span("9s"));
    EXPECT_EQ(draft.awaited().revisit_at, snapshot.now + span("2s"));
  });
}

TEST_F(DraftTest, CollectsHoldsOnlyWhenSomebodyReadsThem) {
  const JobId a = world.submit("1..1");
  plan([&](const Snapshot&, Draft& draft) {
    draft.explain_wait(a, kDraftReason);
    EXPECT_THAT(draft.waits(), IsEmpty());
    draft.explain();
    draft.explain_wait(a, kDraftReason);
    EXPECT_EQ(draft.waits().at(a), kDraftReason);
  });
}

TEST_F(DraftTest, JobsThatSwapSeatsTakeThem) {
  const JobId a = world.run("1 elastic=restart", 1), b = world.run("1 elastic=restart", 1);
  Draft draft(world.snapshot(), placer);
  const Placement of_a = draft.seats(a), of_b = draft.seats(b);
  draft.resize_together({{a, of_b}, {b, of_a}}, kDraftReason, {});
  EXPECT_EQ(draft.free().total(), 6U);
}

TEST_F(DraftTest, CallsAResizeToTheSameSizeAMove) {
  const JobId a = world.run("2..2 elastic=restart", 2);
  const Plan made = plan([&](const Snapshot& snapshot, Draft& draft) {
    draft.resize(a, seats_on(snapshot.state.free_slots(), NodeId{1}, 2, 1), kDraftReason);
  });
  EXPECT_EQ(made.changes[0].kind, ChangeKind::move);
}

using DraftDeathTest = DraftTest;

TEST_F(DraftDeathTest, RefusesTwoChangesOfAJobTwoTradesTwoDraftsAndTakenSlots) {
  const JobId a = world.submit("1..1");
  const JobId b = world.submit("1..1");
  const Placement seat = {{NodeId{0}, {0}}};
  Draft draft(world.snapshot(), placer);
  EXPECT_DEATH(Draft(world.snapshot(), placer), "one draft at a time");
  draft.start(a, seat, kDraftReason);
  EXPECT_DEATH(draft.start(a, {{NodeId{0}, {1}}}, kDraftReason), "changes a job once");
  EXPECT_DEATH(draft.start(b, seat, kDraftReason), "takes only free slots");
  EXPECT_DEATH(draft.drop_trade(), "a trade is open");
  draft.begin_trade();
  EXPECT_DEATH(draft.begin_trade(), "one trade is open");
  EXPECT_DEATH((void)draft.plan(), "no trade is open");
  draft.drop_trade();
}

// Whatever was tried and dropped in between, the kept changes alone make the plan.
RC_GTEST_PROP(Draft, RewindsExactly, ()) {
  World world("3x3 cpu");
  std::vector<JobId> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(world.submit("1..4"));
  const auto keep = *rc::gen::container<std::vector<bool>>(6, rc::gen::arbitrary<bool>());
  const auto sizes = *rc::gen::container<std::vector<int>>(6, rc::gen::inRange(1, 5));
  const auto decide = [&](bool with_dropped) {
    return world.plan([&](const Snapshot&, Draft& draft) {
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!keep[i] && !with_dropped) continue;
        draft.begin_trade();
        if (auto seats = draft.fit(jobs[i], sizes[i]))
          draft.start(jobs[i], std::move(*seats), kDraftReason);
        if (keep[i])
          draft.end_trade();
        else
          draft.drop_trade();
      }
    });
  };
  const auto seats_of = [](const Plan& plan) {
    std::map<JobId, Placement> seats;
    for (const Change& change : plan.changes) seats[change.job] = change.placement;
    return seats;
  };
  RC_ASSERT(seats_of(decide(true)) == seats_of(decide(false)));
}

}  // namespace
}  // namespace paceline
