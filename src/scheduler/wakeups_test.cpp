#include "scheduler/wakeups.hpp"

#include <gtest/gtest.h>

#include "placement/pack.hpp"
#include "plan/decide.hpp"
#include "policy/registry.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

class WakeupsTest : public ::testing::Test {
 protected:
  void line_up(std::string_view policy) {
    active = *PolicyRegistry().make(policy, {});
    wakeups.line_up(*active);
  }
  // A round that asked for nothing and awaits this.
  void had_a_round(const Awaited& awaited = {}) {
    wakeups.begin(world.now());
    wakeups.end(awaited);
  }
  void hears(const Event& event) {
    Wakeups::News news;
    wakeups.see(news, event);
    world.tell(event);
    wakeups.take(news, world.now());
  }

  // A round of the policy, at the coming second.
  void round() {
    world.advance(span("1s"));
    wakeups.begin(world.now());
    const PackPlacer placer;
    Awaited awaited;
    Plan plan;
    {
      Draft draft(world.snapshot(), placer, Protects::yes);
      plan = *decide(draft, decider(*active));
      awaited = draft.awaited();
    }
    plan.round = world.state().round() + 1;
    world.fold(plan);
    wakeups.end(awaited);
    world.advance(span("1s"));
  }
  void hears_that_all_end(JobId job, Cause cause) {
    const Gang gang = *world.job(job).current;
    for (std::int32_t rank = 0; rank < gang.size(); ++rank)
      hears(WorkerEnded{gang.process(job, rank), {cause, {}, 15, "", world.now()}});
  }
  void hears_that_all_start(JobId job) {
    const Gang gang = *world.job(job).current;
    for (std::int32_t rank = 0; rank < gang.size(); ++rank)
      hears(WorkerStarted{gang.process(job, rank), 1});
  }
  void drain_node_of(JobId job, std::optional<Duration> within) {
    const NodeId node = world.job(job).current->workers[0].seat.node;
    hears(NodeDrained{node, {.within = within}, {}});
  }

  World world{"1x2 cpu"};
  std::unique_ptr<Policy> active;
  Wakeups wakeups{world.state(), Protects::yes, span("5s")};
};

TEST_F(WakeupsTest, WaitForAPolicy) {
  EXPECT_FALSE(wakeups.due(world.now()));
  wakeups.want();
  EXPECT_FALSE(wakeups.due(world.now()));
  line_up("fifo");
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, KeepRoundsApart) {
  line_up("fifo");
  had_a_round();
  EXPECT_EQ(wakeups.next(world.now()), std::nullopt);
  wakeups.want();
  EXPECT_FALSE(wakeups.due(world.now()));
  EXPECT_EQ(wakeups.next(world.now()), world.now() + span("5s"));
  world.advance(span("5s"));
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, AreForWhatAPolicyMayAnswerTo) {
  line_up("fifo");
  const JobId job = world.run("1..2 elastic=no", 1);
  had_a_round();
  world.advance(span("1m"));
  Progress progress;
  progress.step = 1;
  hears(Progressed{job, Generation{1}, progress});
  EXPECT_FALSE(wakeups.due(world.now()));
  hears(JobRequested{job, Request::cancel, account(1000)});
  EXPECT_TRUE(wakeups.due(world.now()));
}

// Where a policy asks for nothing of jobs that come up, their owners and drains still may.
TEST_F(WakeupsTest, ComeOnceAJobIsUpThatIsToHaveAnotherSizeOrToLeave) {
  line_up("las");
  const JobId resized = world.submit("1..2 elastic=restart"), drained = world.submit("1");
  world.start(resized, 1);
  world.start(drained, 1);
  had_a_round({.saves = {}, .starts = {resized, drained}, .revisit_at = {}});
  world.advance(span("1m"));
  hears(WorkerStarted{{drained, Generation{1}, 0}, 1});
  EXPECT_FALSE(wakeups.due(world.now())) << "it has just begun";
  world.resize(resized, "2");
  hears(WorkerStarted{{resized, Generation{1}, 0}, 1});
  EXPECT_TRUE(wakeups.due(world.now()));
}

// The plan that stopped it could not answer that it waits.
TEST_F(WakeupsTest, ComeOnceAJobThatWasStoppedWaits) {
  world = World("2x2 cpu");
  line_up("fifo");
  const JobId job = world.run("2 elastic=no", 2);
  drain_node_of(job, span("1s"));
  round();
  ASSERT_EQ(world.job(job).state, JobState::stopping);
  const Gang gang = *world.job(job).current;
  hears(WorkerEnded{gang.process(job, 0), {Cause::preempted, {}, 15, "", world.now()}});
  EXPECT_FALSE(wakeups.due(world.now())) << "the other one ends still";
  hears_that_all_end(job, Cause::preempted);
  EXPECT_EQ(world.job(job).state, JobState::pending);
  world.advance(span("5s"));
  ASSERT_TRUE(wakeups.due(world.now()));
  round();
  EXPECT_EQ(world.job(job).state, JobState::starting);
}

TEST_F(WakeupsTest, ComeOnceAJobThatMadeWayMayHaveRoom) {
  for (const bool room : {false, true}) {
    world = World("1x4 cpu", "srtf");
    line_up("srtf");
    const JobId job = world.run("2 elastic=no", 2);
    const JobId other = world.submit("1..4");
    wakeups.begin(world.now());
    world.preempt(job, other, room ? 2 : 4);
    wakeups.end({});
    hears_that_all_end(job, Cause::preempted);
    ASSERT_EQ(world.job(job).state, JobState::pending);
    world.advance(span("5s"));
    EXPECT_EQ(wakeups.due(world.now()), room);
  }
}

TEST_F(WakeupsTest, DoNotComeWhereAGangEndsOfWhichTheNextStarts) {
  line_up("fifo");
  const JobId job = world.run("1..2@1 elastic=restart", 1);
  world.advance(span("1m"));
  hears(RangeSet{job, {2, 2, 2}, {}});
  round();
  ASSERT_EQ(world.job(job).state, JobState::resizing);
  hears_that_all_end(job, Cause::resized);
  world.advance(span("5s"));
  EXPECT_FALSE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, ComeOnceAJobGaveUpSlotsThatAnotherOneWaitsForByItsOwnersWord) {
  world = World("1x4 cpu");
  line_up("fifo");
  const JobId grows = world.run("1..4@2 elastic=restart", 2);
  const JobId shrinks = world.run("1..4@2 elastic=restart", 2);
  world.advance(span("1m"));
  hears(RangeSet{grows, {3, 3, 3}, {}});
  round();
  ASSERT_EQ(world.job(grows).state, JobState::running);
  hears(RangeSet{shrinks, {1, 1, 1}, {}});
  round();
  hears_that_all_end(shrinks, Cause::resized);
  world.advance(span("5s"));
  ASSERT_TRUE(wakeups.due(world.now()));
  round();
  EXPECT_EQ(world.job(grows).forming->size(), 3);
}

// Its new gang was on its way when it was told.
TEST_F(WakeupsTest, ComeOnceAJobIsUpThatWasGivenAnotherSizeMeanwhile) {
  world = World("1x4 cpu");
  line_up("fifo");
  const JobId job = world.run("1..4@1 elastic=restart", 1);
  world.advance(span("1m"));
  hears(RangeSet{job, {4, 4, 4}, {}});
  round();
  hears_that_all_end(job, Cause::resized);
  hears(RangeSet{job, {2, 2, 2}, {}});
  round();
  hears_that_all_start(job);
  world.advance(span("5s"));
  ASSERT_TRUE(wakeups.due(world.now()));
  round();
  EXPECT_EQ(world.job(job).forming->size(), 2);
}

TEST_F(WakeupsTest, ComeOnceAGangStandsOnANodeThatDrainsUnlessItMayStay) {
  world = World("2x1 cpu");
  line_up("las");
  const JobId job = world.run("1", 1);
  drain_node_of(job, std::nullopt);
  round();
  hears(GangStands{job, Generation{1}});
  world.advance(span("5s"));
  ASSERT_TRUE(wakeups.due(world.now())) << "it can be moved from now on";
  const NodeId node = world.job(job).current->workers[0].seat.node;
  hears(NodeDrained{node, {.keeps = true}, {}});
  round();
  hears(GangStands{job, Generation{1}});
  world.advance(span("5s"));
  EXPECT_FALSE(wakeups.due(world.now()));
}

// It waited for the copy of its checkpoint, and starts from it on its node alone now.
TEST_F(WakeupsTest, ComeWhereNoCopyOfACheckpointWillBeAndItsJobWaitsForIt) {
  world = World("2x4 cpu");
  line_up("elastic-fifo");
  const JobId job = world.run("1..8 elastic=restart", 1);
  world.change_size(job, 6);
  Checkpoint saved{"/saved", 1, {}, world.now()};
  saved.place = {"cpu-0", {}, {job, Generation{1}, 0}, 1, {}, {}};
  world.tell(CheckpointAcknowledged{job, Generation{1}, saved});
  world.ended(job);
  round();
  saved.place->unkept = "it is too large";
  hears(CheckpointKept{job, saved, Keeping::unkept});
  ASSERT_EQ(world.job(job).state, JobState::pending);
  world.advance(span("5s"));
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, ComeAtTheInstantThatARoundAwaits) {
  line_up("fifo");
  const Time then = world.now() + span("10m");
  had_a_round({.saves = {}, .starts = {}, .revisit_at = then});
  EXPECT_EQ(wakeups.next(world.now()), then);
  world.advance(span("599s"));
  EXPECT_FALSE(wakeups.due(world.now()));
  world.advance(span("1s"));
  EXPECT_TRUE(wakeups.due(world.now()));
}

TEST_F(WakeupsTest, ComeWithTheSaveThatARoundAwaits) {
  line_up("fifo");
  const JobId awaited = world.run("1 elastic=no", 1), other = world.run("1 elastic=no", 1);
  had_a_round({.saves = {awaited, awaited}, .starts = {}, .revisit_at = {}});
  EXPECT_EQ(wakeups.awaited_saves().size(), 1U);
  world.advance(span("1m"));
  hears(CheckpointAcknowledged{other, Generation{1}, {}});
  hears(ModelPublished{awaited, Generation{1}, {}});
  EXPECT_FALSE(wakeups.due(world.now()));
  hears(CheckpointAcknowledged{awaited, Generation{1}, {}});
  EXPECT_TRUE(wakeups.due(world.now()));
}

}  // namespace
}  // namespace paceline
