#include "plan/draining.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/check.hpp"
#include "plan/constraints.hpp"
#include "plan/decide.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class Draining : public ::testing::Test {
 protected:
  void drain(std::string_view name, const DrainOrder& order = {}) {
    world.tell(NodeDrained{node(name).id, order, account(0)});
  }
  void undrain(std::string_view name) { world.tell(NodeUndrained{node(name).id, account(0)}); }
  [[nodiscard]] const Node& node(std::string_view name) const {
    return *world.state().find_node(name);
  }
  [[nodiscard]] std::set<std::string> nodes_of(JobId id) const {
    std::set<std::string> names;
    const Job& job = world.job(id);
    for (const Worker& worker : (job.forming ? *job.forming : *job.current).workers)
      names.insert(world.state().find_node(worker.seat.node)->spec.name);
    return names;
  }
  // The round of a policy that decides nothing.
  Plan round() {
    Plan plan;
    {
      const PackPlacer placer;
      Draft draft(world.snapshot(), placer, Protects::yes);
      const auto decided =
          decide(draft, [](const Snapshot&, Draft&) -> Result<void> { return {}; });
      EXPECT_TRUE(decided) << decided.error().message;
      plan = decided.value_or(Plan{});
      revisit_at = draft.awaited().revisit_at;
      awaited_saves = draft.awaited().saves;
    }
    plan.round = world.state().round() + 1;
    world.fold(plan);
    EXPECT_THAT(testing::differences(world.state(), State(world.state().parts())), IsEmpty());
    return plan;
  }
  JobId saved(std::string_view job, std::int32_t workers) {
    const JobId id = world.run(job, workers);
    world.checkpoint(id);
    return id;
  }

  World world{"2x4 cpu"};
  std::optional<Time> revisit_at;
  std::vector<JobId> awaited_saves;
};

TEST_F(Draining, NothingStartsThere) {
  drain("cpu-0");
  const JobId job = world.run("4", 4);
  EXPECT_THAT(nodes_of(job), ElementsAre("cpu-1"));
  EXPECT_THROW(world.run("1", 1), std::invalid_argument);
  undrain("cpu-0");
  EXPECT_THAT(nodes_of(world.run("1", 1)), ElementsAre("cpu-0"));
}

TEST_F(Draining, AJobWithNewcomersMayBeStoppedForAnotherOnceTheDrainIsOver) {
  const JobId job = world.run("1..3", 1);
  const ProcessKey first = world.job(job).current->process(job, 0);
  const Seat here = world.job(job).current->workers[0].seat;
  const NodeId other{1 - here.node.value};
  const Seat there{other, {0}};
  world.resize_in_place(job, {here, there}, {{first, 0}});
  const ProcessKey second = world.job(job).forming->process(job, 1);
  world.tell(WorkerStarted{second, 4711});
  world.tell(WorkerReady{second, second.born});
  world.stands(job);
  world.resize_in_place(job, {here, there, {other, {1}}}, {{first, 0}, {second, 1}});
  drain(world.state().find_node(here.node)->spec.name, {.within = span("1s")});
  world.advance(span("2s"));
  EXPECT_THAT(round().changes, IsEmpty()) << "it is on its way";
  world.preempt(job, world.submit("3"), 3);
  EXPECT_EQ(world.job(job).state, JobState::stopping);
  EXPECT_FALSE(world.job(job).forming);
}

TEST_F(Draining, AJobMovesWhereThereIsRoom) {
  const JobId job = saved("2", 2);
  const auto before = *nodes_of(job).begin();
  drain(before);
  const Plan plan = round();
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].kind, ChangeKind::move);
  EXPECT_EQ(plan.changes[0].reason.code, ReasonCode::leaves_node);
  EXPECT_FALSE(nodes_of(job).contains(before));
}

TEST_F(Draining, AnElasticJobGoesOnSmallerWhereThereIsNone) {
  const JobId job = saved("2..8", 8);
  drain("cpu-0");
  const Plan plan = round();
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].kind, ChangeKind::resize);
  EXPECT_THAT(plan.changes[0].reason.numbers, ElementsAre(8, 4));
  EXPECT_THAT(nodes_of(job), ElementsAre("cpu-1"));
}

TEST_F(Draining, AJobThatIsNotHeardAsAWholeRunsOnAndIsStoppedAtTheEnd) {
  const JobId job = saved("2..8", 8);
  world.node_down("cpu-1");
  drain("cpu-0", {.within = span("30m")});
  EXPECT_THAT(round().changes, IsEmpty()) << "it might never leave cpu-1 for a smaller one";
  world.advance(span("30m"));
  ASSERT_EQ(round().changes.size(), 1U);
  EXPECT_EQ(world.job(job).state, JobState::stopping);
}

TEST_F(Draining, ARigidJobWithoutRoomRunsOnAndIsStoppedAtTheEnd) {
  const JobId job = saved("8", 8);
  drain("cpu-0", {.within = span("30m")});
  EXPECT_THAT(round().changes, IsEmpty());
  EXPECT_EQ(revisit_at, world.now() + span("30m"));
  world.advance(span("30m"));
  const Plan plan = round();
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].kind, ChangeKind::stop);
  EXPECT_EQ(plan.changes[0].reason.code, ReasonCode::leaves_node);
  EXPECT_FALSE(plan.changes[0].beneficiary);
  world.killed(job);
  EXPECT_EQ(world.job(job).state, JobState::pending);
  EXPECT_EQ(world.job(job).retries_used, 0);
}

TEST_F(Draining, AJobThatNeverSavedIsLeftAloneUntilTheEnd) {
  world.tell(RulesSet{{span("10m")}});
  const JobId job = world.run("1..2 elastic=auto", 2);
  const auto before = *nodes_of(job).begin();
  drain(before, {.within = span("5m")});
  EXPECT_THAT(round().changes, IsEmpty());
  world.advance(span("5m"));
  EXPECT_EQ(round().changes.at(0).kind, ChangeKind::stop) << "whatever reclaim_after says";
}

TEST_F(Draining, AJobThatSavesForTheFirstTimeMayLeaveAtOnce) {
  const JobId job = world.run("2 elastic=auto", 2);
  drain(*nodes_of(job).begin());
  EXPECT_THAT(round().changes, IsEmpty());
  EXPECT_THAT(awaited_saves, Contains(job)) << "there is a round once it saves";
  world.checkpoint(job);
  EXPECT_EQ(round().changes.at(0).kind, ChangeKind::move);
}

TEST_F(Draining, WhatIsUnsavedIsWaitedForAsLongAsReclaimAfter) {
  world.tell(RulesSet{{span("10m")}});
  const JobId job = saved("2", 2);
  world.advance(span("20m"));
  drain(*nodes_of(job).begin());
  EXPECT_THAT(round().changes, IsEmpty()) << "20 min of its work are unsaved";
  EXPECT_EQ(revisit_at, world.now() + span("10m"));
  world.advance(span("4m"));
  world.checkpoint(job);
  EXPECT_EQ(round().changes.at(0).kind, ChangeKind::move);
}

TEST_F(Draining, WhatDoesNotSaveLeavesWhenItsTimeIsUp) {
  world.tell(RulesSet{{span("10m")}});
  const JobId job = saved("2", 2);
  world.advance(span("20m"));
  drain(*nodes_of(job).begin());
  round();
  world.advance(span("10m"));
  EXPECT_EQ(round().changes.at(0).kind, ChangeKind::move);
}

TEST_F(Draining, AJobWhoseOwnerWantsAnotherSizeLeavesWithThatOne) {
  const JobId job = saved("2..4", 2);
  drain(*nodes_of(job).begin());
  world.resize(job, "3..4");
  const Plan plan = round();
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].placement.size(), 3U);
  world.killed(job);
  world.started(job);
  undrain("cpu-0");
  undrain("cpu-1");
  world.run("4 elastic=no", 4);
  drain(*nodes_of(job).begin());
  EXPECT_THAT(round().changes, IsEmpty()) << "there is room for none of its sizes";
}

TEST_F(Draining, AJobPausedByItsOwnerIsStoppedAtTheEndAndStaysHeld) {
  const JobId job = saved("1", 1);
  world.pause(job);
  drain(*nodes_of(job).begin(), {.within = span("0s")});
  EXPECT_EQ(round().changes.at(0).kind, ChangeKind::stop);
  world.killed(job);
  EXPECT_EQ(world.job(job).state, JobState::pending);
  EXPECT_TRUE(world.job(job).held);
}

TEST_F(Draining, OthersMayNotBeStoppedForNobody) {
  const JobId job = saved("1", 1);
  drain(*nodes_of(job).begin(), {.within = span("5m")});
  const PackPlacer placer;
  Draft draft(world.snapshot(), placer);
  draft.stop(job, {ReasonCode::leaves_node, {1, 0}, "cpu-0"}, {});
  EXPECT_THAT(violations(world.snapshot(), draft.plan()), ElementsAre(HasSubstr("for nobody")));
}

TEST_F(Draining, IsAnnouncedAndBegins) {
  const Time at = world.now() + span("1h");
  const DrainOrder order{.from = WallTime{at.time_since_epoch()}, .within = span("10m")};
  drain("cpu-0", order);
  EXPECT_THAT(world.state().drains_announced(), ElementsAre(node("cpu-0").id));
  EXPECT_EQ(world.state().drain_ends(node("cpu-0")), at + span("10m"));
  world.advance(span("1h"));
  world.tell(DrainBegan{node("cpu-0").id});
  EXPECT_THAT(world.state().draining(), ElementsAre(node("cpu-0").id));
  EXPECT_FALSE(node("cpu-0").offers(0));
}

TEST_F(Draining, NoJobComesThatWouldOutlastTheAnnouncement) {
  const Time at = world.now() + span("1h");
  drain("cpu-0", {.from = WallTime{at.time_since_epoch()}});
  EXPECT_THAT(nodes_of(world.run("1 expect=2h", 1)), ElementsAre("cpu-1"));
  EXPECT_THAT(nodes_of(world.run("4 expect=30m", 4)), ElementsAre("cpu-0"));
  const JobId unknown = world.submit("4");
  EXPECT_THROW(world.start(unknown, 4), std::invalid_argument) << "there is no room";
}

// Of seed 20032442: as each node of its kind has a limit, a job that needs longer would start on none.
TEST_F(Draining, OneThatSavedStartsBeforeTheLimitOfItsNodeThoughItNeedsLonger) {
  const Time at = world.now() + span("1h");
  const JobId job = saved("1 expect=2h", 1);
  world.ended(job, {Cause::node_lost, {}, 0, "off", world.now()});
  drain("cpu-0", {.from = WallTime{at.time_since_epoch()}, .limit = true});
  drain("cpu-1", {.from = WallTime{at.time_since_epoch()}, .limit = true});
  EXPECT_THROW(world.run("1 expect=2h", 1), std::invalid_argument) << "it never saved";
  world.start(job, 1);
  EXPECT_EQ(world.job(job).state, JobState::starting);
}

TEST_F(Draining, OverARestartOfItsAgentAndItsRetirementItStays) {
  drain("cpu-0");
  world.node_down("cpu-0");
  world.node_up("cpu-0");
  EXPECT_TRUE(node("cpu-0").drains());
  world.node_down("cpu-0");
  world.node_retired("cpu-0");
  EXPECT_TRUE(node("cpu-0").drains());
}

TEST_F(Draining, ASecondOrderChangesTheEndOnly) {
  drain("cpu-0");
  const Time begun = *node("cpu-0").drain->begun_at;
  world.advance(span("1m"));
  drain("cpu-0", {.within = span("5m")});
  EXPECT_EQ(node("cpu-0").drain->begun_at, begun);
  EXPECT_EQ(world.state().drain_ends(node("cpu-0")), begun + span("5m"));
}

}  // namespace
}  // namespace paceline
