// What people, workers and nodes tell, folded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/apply.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::span;
using testing::World;

TEST(Start, LeasesTheGangWholeAndRunsOnceEveryWorkerDoes) {
  World world("1x4 cpu");
  const JobId a = world.submit("2..2");
  world.start(a, 2);
  EXPECT_EQ(world.job(a).state, JobState::starting);
  EXPECT_EQ(world.job(a).leased, 2);
  EXPECT_EQ(world.state().slots_leased(), 2);
  world.started(a, 0);
  EXPECT_EQ(world.job(a).state, JobState::starting);
  world.started(a, 1);
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_EQ(world.job(a).current->started_at, world.now());
  EXPECT_EQ(world.job(a).current->generation, Generation{1});
  EXPECT_EQ(world.job(a).attempt, 1);
}

TEST(Start, OfAWorkerIsToldOnce) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.tell(WorkerStarted{{a, Generation{1}, 0}, 9999});
  EXPECT_EQ(world.job(a).current->workers[0].pid, 4000);
}

TEST(Start, MayBeOverForOneWorkerBeforeTheLastRuns) {
  World world("1x4 cpu");
  const JobId a = world.submit("2..2");
  world.start(a, 2);
  world.started(a, 0);
  world.ended(a, 0, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::starting);
  world.started(a, 1);
  EXPECT_EQ(world.job(a).state, JobState::running);
  world.ended(a, 1, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::completed);
}

TEST(Cancel, EndsAWaitingJobAtOnceAndARunningOneThroughStopping) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2 grace=9s", 2);
  const JobId b = world.submit("4..4");
  world.cancel(b);
  EXPECT_EQ(world.job(b).state, JobState::cancelled);
  world.cancel(a);
  EXPECT_EQ(world.job(a).state, JobState::stopping);
  EXPECT_EQ(world.job(a).current->stop->grace, span("9s"));
  world.ended(a, ending("0"));  // however well it ends
  EXPECT_EQ(world.job(a).state, JobState::cancelled);
  EXPECT_EQ(world.job(a).ending->cause, Cause::cancelled);
}

TEST(Cancel, WorksWhileStartingPausedAndStopping) {
  World world("1x8 cpu");
  const JobId starting = world.submit("1..1");
  world.start(starting, 1);
  const JobId paused = world.run("1..1", 1);
  world.pause(paused);
  const JobId stopping = world.run("2..2", 2);
  world.ended(stopping, 0, ending("1"));
  for (const JobId id : {starting, paused, stopping}) {
    world.cancel(id);
    EXPECT_EQ(world.job(id).state, JobState::stopping);
    EXPECT_EQ(world.job(id).current->stop->cause, Cause::cancelled);
    world.killed(id);
    EXPECT_EQ(world.job(id).state, JobState::cancelled);
  }
}

TEST(Cancel, OfAJobThatIsOverChangesNothing) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.ended(a);
  world.cancel(a);
  EXPECT_EQ(world.job(a).state, JobState::completed);
}

TEST(Cancel, WhileResizingDropsTheFormingGenerationToo) {
  World world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  world.change_size(a, 4);
  EXPECT_EQ(world.state().slots_leased(), 4);
  world.cancel(a);
  EXPECT_EQ(world.job(a).state, JobState::stopping);
  EXPECT_EQ(world.job(a).forming, std::nullopt);
  EXPECT_EQ(world.state().slots_leased(), 2);
  world.killed(a);
  EXPECT_EQ(world.state().free_slots().total(), 4U);
}

TEST(Pause, KeepsTheLeasesAndStopsTheClock) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.advance(span("10s"));
  world.pause(a);
  EXPECT_EQ(world.job(a).state, JobState::paused);
  EXPECT_EQ(world.job(a).leased, 2);
  world.advance(span("1h"));
  world.resume(a);
  world.advance(span("5s"));
  world.ended(a);
  EXPECT_EQ(world.job(a).ran, span("15s"));
  EXPECT_EQ(world.job(a).paused, span("1h"));
}

TEST(Pause, OfAWaitingJobHoldsIt) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.submit("1..1");
  world.pause(a);
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_TRUE(world.job(a).held);
  EXPECT_TRUE(world.round().changes.empty());
  world.resume(a);
  EXPECT_EQ(world.round().changes.size(), 1U);
}

TEST(Pause, OutlivesTheLossOfTheNode) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.run("1..1", 1);
  world.pause(a);
  world.advance(kQuickFailure);
  world.node_lost("cpu-0");
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_TRUE(world.job(a).held);
  world.node_up("cpu-0");
  EXPECT_TRUE(world.round().changes.empty());
  world.resume(a);
  EXPECT_EQ(world.round().changes.size(), 1U);
}

TEST(Hold, WaitsForResume) {
  World world("1x4 cpu", "fifo");
  const JobId a = world.submit("1..1 hold");
  EXPECT_TRUE(world.round().changes.empty());
  EXPECT_THAT(world.state().waiting(), IsEmpty());
  EXPECT_EQ(world.state().queue().size(), 1U);
  world.resume(a);
  EXPECT_EQ(world.state().waiting().size(), 1U);
}

TEST(TimeLimit, StopsTheGangAndEndsInTimeout) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2 max_duration=60s", 2);
  world.advance(span("60s"));
  world.time_limit(a);
  EXPECT_EQ(world.job(a).state, JobState::stopping);
  world.ended(a, 0, ending("0"));
  world.ended(a, 1, ending("signal 9"));
  EXPECT_EQ(world.job(a).state, JobState::timeout);
  EXPECT_EQ(world.job(a).ending->cause, Cause::timed_out);
}

// A worker that ended while nobody could be told, and when.
WorkerEnded unseen(const World& world, JobId job, std::int32_t rank, std::string_view how,
                   Duration before) {
  Ending end = ending(how);
  end.at = world.now() - before;
  return {{job, world.job(job).current->generation, rank}, end, before};
}

TEST(UnseenEnd, CountsNothingThatCameAfterIt) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.advance(span("8h"));
  world.tell(unseen(world, a, 0, "0", span("7h")));
  const Job& job = world.job(a);
  EXPECT_EQ(job.state, JobState::completed);
  EXPECT_EQ(job.ran, span("1h"));
  EXPECT_DOUBLE_EQ(job.slot_seconds, 3600);
  EXPECT_EQ(job.changed_at, world.now());
}

TEST(UnseenEnd, OfARankLeavesTheOthersTheirTime) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.advance(span("8h"));
  world.tell(unseen(world, a, 0, "0", span("7h")));
  EXPECT_EQ(world.job(a).ran, span("1h"));
  world.tell(unseen(world, a, 1, "0", span("2h")));
  EXPECT_EQ(world.job(a).state, JobState::completed);
  EXPECT_EQ(world.job(a).ran, span("6h"));
}

TEST(UnseenEnd, IsWaitedAfterNotRun) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 retry=1", 1);
  world.advance(span("8h"));
  world.tell(unseen(world, a, 0, "1", span("7h")));
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_EQ(world.job(a).ran, span("1h"));
  EXPECT_DOUBLE_EQ(world.job(a).bill.failure, 3600);
  world.advance(span("1h"));
  world.cancel(a);
  EXPECT_EQ(world.job(a).waited, span("1h"));
}

TEST(UnseenEnd, BeforeTheTimeLimitIsNoTimeout) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 max_duration=2h", 1);
  const JobId b = world.run("1..1 max_duration=2h", 1);
  world.advance(span("8h"));
  for (const JobId id : {a, b}) world.time_limit(id);
  world.tell(unseen(world, a, 0, "0", span("7h")));
  world.ended(b, 0, ending("0"));
  EXPECT_EQ(world.job(a).state, JobState::completed);
  EXPECT_EQ(world.job(b).state, JobState::timeout);
}

// Its machine ended it while no server was there.
TEST(UnseenEnd, ByItsMachineAtTheTimeLimitIsATimeout) {
  World world("1x8 cpu");
  const JobId a = world.run("1..1 max_duration=2h retry=3", 1);
  const JobId b = world.run("2..2 max_duration=2h", 2);
  const JobId c = world.run("2..2 max_duration=2h", 2);
  world.advance(span("8h"));
  const auto out_of_time = [&](JobId id, std::int32_t rank) {
    auto event = unseen(world, id, rank, "0", span("6h"));
    event.ending.cause = Cause::timed_out;
    world.tell(event);
  };
  out_of_time(a, 0);
  EXPECT_EQ(world.job(a).state, JobState::timeout);
  EXPECT_EQ(world.job(a).ran, span("2h"));
  out_of_time(c, 0);
  out_of_time(c, 1);
  EXPECT_EQ(world.job(c).state, JobState::timeout);
  EXPECT_EQ(world.job(c).ran, span("2h"));
  out_of_time(b, 1);
  EXPECT_EQ(world.job(b).state, JobState::stopping);
  EXPECT_EQ(world.job(b).current->stop->cause, Cause::timed_out);
  EXPECT_EQ(world.job(b).ran, span("2h"));
  world.ended(b, 0, ending("1"));
  EXPECT_EQ(world.job(b).state, JobState::timeout);
}

TEST(ClockSet, MovesDeadlinesAndNothingElse) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 deadline=2h", 1);
  const Time due = world.state().deadline(world.job(a)).value();
  world.advance(span("10s"));
  world.tell(ClockSet{span("3h"), {}});
  EXPECT_EQ(world.job(a).ran, Duration::zero());
  EXPECT_EQ(world.state().deadline(world.job(a)), due - span("3h"));
  EXPECT_EQ(shown(world.state().clock_marks(), world.now() - Duration{1}),
            WallTime{(world.now() - Duration{1}).time_since_epoch()});
  world.advance(span("10s"));
  world.tell(ClockSet{-span("4h"), Boot{"next", world.now()}});
  EXPECT_EQ(world.state().ahead(), -span("1h"));
  EXPECT_EQ(world.state().boot(), (Boot{"next", world.now()}));
  world.cancel(a);
  EXPECT_EQ(world.job(a).ran, span("20s"));
}

// What formed and what runs goes on; the next generation is beyond.
TEST(JournalAccepted, LeavesOutTheGenerationsThatMayHaveBeenGiven) {
  World world("1x4 cpu");
  const JobId runs = world.run("1..2 elastic=restart", 1);
  const JobId waits = world.submit("4");
  const JobId over = world.run("1", 1);
  world.ended(over, 0, ending("0"));
  world.tell(JournalAccepted{12, Generation{7}});
  EXPECT_EQ(world.job(runs).current->generation, Generation{1});
  EXPECT_EQ(world.job(runs).state, JobState::running);
  EXPECT_EQ(world.job(over).last_generation, Generation{1});
  EXPECT_EQ(world.job(waits).last_generation, Generation{7});
  world.round([&](const Snapshot&, Draft& draft) {
    draft.resize(runs, *draft.refit(runs, 2), {ReasonCode::grows, {1, 2}, {}});
  });
  EXPECT_EQ(world.job(runs).forming->generation, Generation{8});
  world.tell(JournalAccepted{1, Generation{20}});
  EXPECT_EQ(world.job(runs).forming->generation, Generation{8});
  EXPECT_EQ(world.job(runs).last_generation, Generation{20});
}

TEST(TimeLimit, GivesWayToACancelAndToNothingMilder) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.time_limit(a);
  world.cancel(a);
  world.time_limit(a);
  world.killed(a);
  EXPECT_EQ(world.job(a).state, JobState::cancelled);
}

// The old generation is gone, the new one waits for slots that another job leaves slowly.
TEST(TimeLimit, EndsAJobBetweenTwoGenerationsAtOnce) {
  World world("1x4 cpu");
  const JobId giver = world.run("1..2 elastic=restart", 2);
  const JobId a = world.run("1..4 elastic=restart max_duration=60s", 2);
  world.round([&](const Snapshot&, Draft& draft) {
    draft.resize(giver, *draft.refit(giver, 1), {ReasonCode::shrinks_to_share, {2, 1}, {}});
    draft.resize(a, *draft.refit(a, 3), {ReasonCode::grows, {2, 3}, {}});
  });
  world.killed(a);
  ASSERT_EQ(world.job(a).state, JobState::resizing);
  ASSERT_FALSE(world.job(a).current);
  world.advance(span("60s"));
  world.time_limit(a);
  EXPECT_EQ(world.job(a).state, JobState::timeout);
  EXPECT_EQ(world.job(a).leased, 0);
}

TEST(TimeLimit, ChangesNothingForAJobWithoutAGang) {
  World world("1x4 cpu");
  const JobId a = world.submit("1..1 max_duration=60s");
  world.time_limit(a);
  EXPECT_EQ(world.job(a).state, JobState::pending);
}

TEST(Progressed, MarksTheTiersOfTheTargetAtTheirFirstMeeting) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  const auto report = [&](double accuracy) {
    world.advance(span("1s"));
    Progress p;
    p.metrics = {{"accuracy", accuracy}, {"loss", 1 - accuracy}};
    world.report(a, p);
  };
  report(0.89);
  EXPECT_FALSE(world.job(a).should_stop());
  report(0.91);
  const Time met = world.now();
  report(0.95);
  report(0.5);
  EXPECT_TRUE(world.job(a).should_stop());
  EXPECT_EQ(world.job(a).target.reached_at, met);
  EXPECT_EQ(world.job(a).target.delivered_at, met);
  EXPECT_EQ(world.job(a).progress->metrics.at("loss"), 0.5);
  EXPECT_EQ(world.job(a).state, JobState::running);
}

TEST(Progressed, MeasuresRatesBySizeAndDevicesOfTheGang) {
  World world("1x2 a100; 1x2 h100");
  const auto devices = [&](std::int32_t workers) {
    const JobId job = world.run("1..4", workers);
    for (const std::uint64_t step : {0U, 10U, 20U}) {
      Progress report;
      report.step = step;
      report.reported_at = world.now();
      world.report(job, report);
      world.advance(span("10s"));
    }
    const auto& point = world.job(job).speeds.at(0);
    EXPECT_EQ(world.job(job).speeds.size(), 1U);
    EXPECT_EQ(point.workers, workers);
    EXPECT_DOUBLE_EQ(point.rate, 1);
    world.ended(job);
    return point.device;
  };
  EXPECT_EQ(devices(4), "a100+h100");
  const std::string alike = devices(2);
  EXPECT_TRUE(alike == "a100" || alike == "h100") << alike;
}

TEST(JobWarned, HoldsUntilItIsTakenBackOrTheGangIsOver) {
  World world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  const auto tell = [&](Generation generation, bool holds) {
    world.tell(JobWarned{a, generation, Warning::no_rendezvous, holds});
    return world.job(a).current->warnings;
  };
  const std::vector<Warning> one{Warning::no_rendezvous};
  EXPECT_EQ(tell(Generation{1}, true), one);
  EXPECT_EQ(tell(Generation{1}, true), one);
  EXPECT_TRUE(tell(Generation{1}, false).empty());
  EXPECT_EQ(tell(Generation{1}, true), one);
  world.change_size(a, 3);
  world.killed(a);
  world.started(a);
  EXPECT_TRUE(world.job(a).current->warnings.empty());
  EXPECT_TRUE(tell(Generation{1}, true).empty()) << "of a gang that is over";
}

TEST(LateFacts, OfAnOverGenerationChangeNothing) {
  World world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 2);
  world.checkpoint(a);
  world.change_size(a, 3);
  world.killed(a);
  world.started(a);
  const Job before = world.job(a);
  Progress stale;
  stale.step = 1;
  world.tell(WorkerStarted{{a, Generation{1}, 0}, 1});
  world.tell(WorkerEnded{{a, Generation{1}, 1}, ending("1")});
  world.tell(CheckpointAcknowledged{a, Generation{1}, {"/old", {}, {}, world.now()}});
  world.tell(ModelPublished{a, Generation{1}, {"box", "/old", "", {}, {}, {}, world.now()}});
  world.tell(Progressed{a, Generation{1}, stale});
  EXPECT_EQ(world.job(a), before);
}

TEST(LateFacts, OfAJobThatIsOverOrUnknownChangeNothing) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.ended(a);
  const Job before = world.job(a);
  for (const JobId id : {a, JobId{77}}) {
    const ProcessKey key{id, Generation{1}, 0};
    world.tell(WorkerStarted{key, 1});
    world.tell(WorkerEnded{key, ending("1")});
    world.tell(CheckpointAcknowledged{id, Generation{1}, {"/old", {}, {}, world.now()}});
    world.tell(ModelPublished{id, Generation{1}, {"box", "/old", "", {}, {}, {}, world.now()}});
    world.tell(Progressed{id, Generation{1}, {}});
  }
  EXPECT_EQ(world.job(a), before);
}

TEST(LateFacts, OfTheGenerationThatHasJustEndedAreStillTrue) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 retry=1", 1);
  world.ended(a, ending("1"));
  Progress last;
  last.step = 99;
  world.tell(Progressed{a, Generation{1}, last});
  world.tell(CheckpointAcknowledged{a, Generation{1}, {"/late", {}, {}, world.now()}});
  world.tell(ModelPublished{a, Generation{1}, {"box", "/model", "", {}, {}, {}, world.now()}});
  EXPECT_EQ(world.job(a).progress->step, 99U);
  EXPECT_EQ(world.job(a).checkpoint->path, "/late");
  EXPECT_EQ(world.job(a).model->path, "/model");
}

TEST(LateFacts, OfRanksThatNeverWereChangeNothing) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  const Job before = world.job(a);
  for (const std::int32_t rank : {-1, 1, 1000})
    world.tell(WorkerEnded{{a, Generation{1}, rank}, ending("1")});
  EXPECT_EQ(world.job(a), before);
}

TEST(Nodes, AddTheirUsableSlotsWhileTheyAreUp) {
  World world("1x4 cpu; 1x2 a100");
  EXPECT_EQ(world.state().slots_available(), 6);
  world.node_down("a100-0");
  EXPECT_EQ(world.state().slots_available(), 4);
  EXPECT_EQ(world.state().slots_ever(), 6);
  EXPECT_EQ(world.state().free_slots().total(), 4U);
  NodeSpec spec = world.state().nodes()[1].spec;
  spec.slots[0].usable = false;
  spec.slots[0].note = "used by process 4711";
  world.tell(NodeUp{NodeId{1}, spec});
  EXPECT_EQ(world.state().slots_available(), 5);
  EXPECT_EQ(world.state().slots_ever(), 6) << "it may be given back";
  EXPECT_FALSE(world.state().free_slots().is_free({NodeId{1}, 0}));
  EXPECT_EQ(world.state().find_node("a100-0")->id, NodeId{1});
}

TEST(Nodes, ThatGoDownKeepTheirLeasesUntilTheWorkersAreKnownToBeGone) {
  World world("1x4 cpu");
  const JobId a = world.run("2..2", 2);
  world.node_down("cpu-0");
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_EQ(world.state().slots_leased(), 2);
  world.node_up("cpu-0");  // only the line was cut
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_EQ(world.state().free_slots().total(), 2U);
}

// Else they might stay idle for ever.
TEST(Nodes, ThatGoDownWhileAGangIsToLeaveThemGiveBackTheSeatsOfTheNext) {
  for (const std::uint32_t rules : {kFoldRules, 5U}) {
    World world("3x2 cpu");
    world.fold_by(rules);
    const JobId a = world.run("2..3 elastic=restart slots_per_worker=2", 2);
    world.checkpoint(a);
    world.change_size(a, 3);
    world.node_down("cpu-1");
    const bool as_before = rules == 5;
    EXPECT_EQ(world.job(a).forming.has_value(), as_before);
    EXPECT_EQ(world.state().free_slots().total(), as_before ? 0U : 2U);
    if (as_before) continue;
    EXPECT_EQ(world.job(a).state, JobState::stopping);
    world.ended(a, 0, ending("0"));
    world.node_up("cpu-1");
    world.checkpoint(a);
    world.ended(a, 1, ending("0"));
    EXPECT_EQ(world.job(a).state, JobState::pending);
    EXPECT_EQ(world.job(a).retries_used, 0);
  }
}

TEST(Nodes, ThatWereDownAlreadyAreLookedAtOnceByTheFirstServerOfTheseRules) {
  World world("3x2 cpu");
  world.fold_by(5);
  const JobId a = world.run("2..3 elastic=restart slots_per_worker=2", 2);
  world.change_size(a, 3);
  world.node_down("cpu-1");
  ASSERT_TRUE(world.job(a).forming);
  world.fold_by(kFoldRules);
  world.submit("1");
  EXPECT_FALSE(world.job(a).forming);
  EXPECT_EQ(world.state().free_slots().total(), 2U);
}

// It was lawful when it was made.
TEST(Nodes, ThatAreNotHeardWereLeftByPlansOfBefore) {
  World world("3x2 cpu");
  world.fold_by(5);
  const JobId a = world.run("1..3 elastic=restart slots_per_worker=2", 1);
  world.checkpoint(a);
  world.node_down("cpu-0");
  Plan plan{world.state().round() + 1, "elastic-fifo", "test", {}, {}, {}, {}};
  plan.changes.push_back({ChangeKind::move,
                          a,
                          Generation{2},
                          {Seat{NodeId{1}, {0, 1}}},
                          {ReasonCode::script, {}, "because"},
                          0,
                          {}});
  world.fold(plan);
  EXPECT_EQ(world.state().misfit(), "");
  EXPECT_EQ(world.job(a).last_generation, Generation{2});
}

TEST(Nodes, ThatGoDownWhileAStartWaitsForThemSendItBackToTheQueue) {
  World world("2x2 cpu");
  const JobId a = world.run("1 slots_per_worker=2", 1);
  const JobId b = world.submit("2 slots_per_worker=2");
  const Time since = world.job(b).waiting_since;
  world.advance(span("25m"));
  world.preempt(a, b, 2);
  ASSERT_EQ(world.job(b).state, JobState::starting);
  world.node_down(world.state().find_node(world.job(a).current->workers[0].seat.node)->spec.name);
  EXPECT_EQ(world.job(b).state, JobState::pending);
  EXPECT_FALSE(world.job(b).forming);
  EXPECT_EQ(world.job(b).waiting_since, since) << "its patience goes on";
  EXPECT_EQ(world.job(a).state, JobState::stopping);
  EXPECT_EQ(world.state().free_slots().total(), 2U);
}

TEST(Nodes, ThatRefuseKeepWhatRunsAndGetNothingNew) {
  World world("2x4 cpu", "fifo");
  const JobId a = world.run("2..2", 2);
  const NodeId full = world.job(a).current->workers[0].seat.node;
  NodeSpec spec = world.state().nodes()[full.value].spec;
  spec.refusal = Refusal{"no space is left", world.now() + span("2s")};
  world.tell(NodeUp{full, spec});
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_EQ(world.state().slots_available(), 8);
  EXPECT_EQ(world.state().free_slots().total(), 4U);
  const JobId b = world.submit("3..3");
  const JobId c = world.submit("2..2");
  world.round();
  for (const Worker& worker : world.job(b).current->workers) EXPECT_NE(worker.seat.node, full);
  EXPECT_EQ(world.job(c).state, JobState::pending);
  spec.refusal.reset();
  world.tell(NodeUp{full, spec});
  world.round();
  for (const Worker& worker : world.job(c).current->workers) EXPECT_EQ(worker.seat.node, full);
}

TEST(Nodes, MayComeBackWithFewerSlotsThanAreLeased) {
  World world("1x4 cpu");
  const JobId a = world.run("4..4", 4);
  NodeSpec spec = world.state().nodes()[0].spec;
  spec.slots.resize(2);
  world.tell(NodeUp{NodeId{0}, spec});
  EXPECT_EQ(world.state().slots_available(), 2);
  world.ended(a);
  EXPECT_EQ(world.state().free_slots().total(), 2U);
}

// Its node comes back with so many slots.
void come_back(World& world, std::size_t slots) {
  NodeSpec spec = world.state().nodes()[0].spec;
  spec.slots.resize(slots, spec.slots.front());
  world.tell(NodeUp{NodeId{0}, spec});
}

TEST(Nodes, LetWorkersGoOnUponSlotsThatAreGone) {
  World world("1x4 a100");
  const JobId first = world.run("1..1", 1);
  const JobId a = world.run("2..3", 3);
  world.ended(first);
  come_back(world, 1);
  Progress report;
  report.step = 100;
  report.step_seconds = 0.5;
  report.reported_at = world.now();
  world.report(a, report);
  EXPECT_EQ(world.job(a).state, JobState::running);
  EXPECT_THAT(world.state().interference().alone, IsEmpty()) << "of which device, nobody knows";
  EXPECT_FALSE(world.state().nodes()[0].usable(3));
  EXPECT_EQ(world.state().nodes()[0].slot_spec(3).note, "the node has it no longer");
}

TEST(Nodes, GiveSlotsThatAreGoneToNobodyUntilTheyAreBack) {
  World world("1x4 cpu");
  const JobId a = world.run("4..4", 4);
  come_back(world, 2);
  world.ended(a);
  EXPECT_EQ(world.state().free_slots().total(), 2U);
  EXPECT_EQ(world.state().slots_ever(), 2);
  come_back(world, 6);
  EXPECT_EQ(world.state().free_slots().total(), 6U);
  EXPECT_EQ(world.run("6..6", 6), JobId{2});
}

TEST(Nodes, MayLoseSlotsThatAreOnTheirWayToANewGang) {
  World world("1x4 cpu");
  const JobId a = world.run("1..4 elastic=restart", 4);
  world.checkpoint(a);
  world.change_size(a, 2);
  come_back(world, 1);
  world.killed(a);
  EXPECT_EQ(world.job(a).current->size(), 2);  // its agent refuses the start: lost with its node
  for (const std::int32_t rank : {0, 1})
    world.ended(a, rank, {Cause::node_lost, {}, 0, "no slot 1", world.now()});
  EXPECT_EQ(world.job(a).state, JobState::pending);
  EXPECT_EQ(world.job(a).retries_used, 0);
  EXPECT_EQ(world.state().free_slots().total(), 1U);
}

TEST(Policies, AreTimedInPeriods) {
  World world("1x4 cpu", "fifo");
  world.advance(span("10s"));  // 10 s × 4 slots, none leased
  const JobId a = world.run("3..3", 3);
  world.advance(span("20s"));  // 20 s × 4 slots, 3 leased
  world.set_policy("elastic-fifo");
  world.advance(span("5s"));  // 5 s × 4 slots, 3 leased
  world.ended(a);
  ASSERT_EQ(world.state().periods().size(), 2U);
  const auto& fifo = world.state().periods()[0];
  EXPECT_DOUBLE_EQ(fifo.slot_seconds_available, 30 * 4);
  EXPECT_DOUBLE_EQ(fifo.slot_seconds_leased, 20 * 3);
  world.advance(span("1s"));
  const auto now = world.state().active_period(world.now());
  EXPECT_DOUBLE_EQ(now.slot_seconds_available, 6 * 4);
  EXPECT_DOUBLE_EQ(now.slot_seconds_leased, 5 * 3);
}

TEST(Policies, ForgetTheMemoOfTheOneBefore) {
  World world("2x2 cpu", "round-robin");
  world.submit("1..1");
  world.round();
  EXPECT_EQ(world.state().memo().size(), 1U);
  world.set_policy("round-robin");
  EXPECT_THAT(world.state().memo(), IsEmpty());
}

double no_measure(const Job&, const Order::Parameters&) { return 0; }
double size_measure(const Job& job, const Order::Parameters&) { return job.range.max; }
std::int64_t one_slot(const Job&) { return 1; }

TEST(Policies, LeaveNoOrdersBehindThatTheNextOneDoesNotAskFor) {
  const Order former{no_measure, one_slot}, present{size_measure, one_slot};
  World world("1x2 cpu");
  const JobId large = world.submit("1..8"), small = world.submit("1..4");
  const auto first = [&](const Order& order) {
    return world.state().waiting_by(order).walk().next(1)->job;
  };
  EXPECT_EQ(first(former), large);
  EXPECT_EQ(first(present), small);
  EXPECT_TRUE(world.state().running_by(former).rows().empty());
  EXPECT_EQ(world.state().orders_kept(), 3U);

  world.tell(PolicySet{"other", {}});
  EXPECT_EQ(first(present), small);
  EXPECT_EQ(world.state().orders_kept(), 3U) << "the new policy may yet ask for them";
  world.run("1", 1);
  EXPECT_EQ(world.state().orders_kept(), 1U);
  world.run("1", 1);
  EXPECT_EQ(world.state().orders_kept(), 1U) << "and nothing goes before the next change";
  world.submit("1..2 priority=80");
  EXPECT_EQ(first(present).value, 5U) << "what stays is up to date";
  EXPECT_EQ(first(former).value, 5U) << "and what went can be asked for again";
  EXPECT_EQ(world.state().orders_kept(), 2U);
}

TEST(Users, AreKnownByTheirWaitingJobs) {
  World world("1x2 cpu");
  const JobId a = world.submit("1..1 user=ann"), b = world.submit("1..2 user=ann");
  world.submit("1..1 user=bob");
  EXPECT_THAT(world.state().waiting_users(), ElementsAre(Pair("ann", 2), Pair("bob", 1)));
  world.start(a, 1);
  EXPECT_THAT(world.state().waiting_users(), ElementsAre(Pair("ann", 1), Pair("bob", 1)));
  world.cancel(b);
  EXPECT_THAT(world.state().waiting_users(), ElementsAre(Pair("bob", 1)));
}

TEST(Forgotten, LeavesItsSumsAndNothingElse) {
  World world("1x4 cpu");
  const JobId a = world.run("1..2 name=prep", 2), b = world.submit("1..1 after=1");
  world.advance(span("10s"));
  world.ended(a);
  const Job known = world.job(a);
  world.tell(JobsForgotten{{a}});
  EXPECT_EQ(world.state().find_job(a), nullptr);
  EXPECT_TRUE(world.state().is_forgotten(a));
  const auto& sums = world.state().forgotten().at(known.spec->user);
  EXPECT_EQ(sums.jobs(), 1U);
  EXPECT_EQ(sums.completed, 1U);
  EXPECT_EQ(sums.slot_seconds, known.slot_seconds);
  EXPECT_EQ(sums.waited, known.waited);
  EXPECT_TRUE(world.state().waiting().contains(queue_key(world.job(b)))) << "it completed";
  EXPECT_EQ(world.state().next_job_id(), JobId{3}) << "ids are not given again";
  const State again(world.state().parts());
  EXPECT_THAT(testing::differences(world.state(), again), ::testing::IsEmpty());
  EXPECT_TRUE(again.waiting().contains(queue_key(world.job(b))));
}

TEST(Forgotten, IsNeverWhatIsNotOver) {
  World world("1x4 cpu");
  const JobId a = world.run("1..2", 2);
  world.tell(JobsForgotten{{a, JobId{9}}});
  EXPECT_NE(world.state().find_job(a), nullptr);
  EXPECT_TRUE(world.state().forgotten().empty());
}

TEST(Forgotten, HearsNothingAnyMore) {
  World world("1x4 cpu");
  const JobId a = world.run("1..2", 2);
  world.ended(a);
  world.tell(JobsForgotten{{a}});
  const auto before = world.state().forgotten();
  world.cancel(a);
  world.time_limit(a);
  world.tell(RangeSet{a, {1, 1, 1}});
  world.tell(WorkerEnded{{a, Generation{1}, 0}, testing::ending("1")});
  world.tell(WorkerStarted{{a, Generation{1}, 0}, 7});
  world.tell(JobsForgotten{{a}});
  EXPECT_TRUE(world.state().is_forgotten(a));
  EXPECT_EQ(world.state().forgotten(), before);
}

TEST(ApplyDeathTest, WantsEntriesWithoutGapsAndJobsInOrder) {
  World world("1x4 cpu");
  State state(world.state().parts());
  EXPECT_DEATH(apply(state, {state.seq() + 2, {}, NodeDown{NodeId{0}}}), "without gaps");
  EXPECT_DEATH(world.tell(JobSubmitted{JobId{5}, testing::job("1..1")}), "given in order");
}

TEST(Apply, ClampsATimeThatGoesBack) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  world.advance(span("10s"));
  world.pause(a);
  world.advance(-span("20s"));
  world.resume(a);
  EXPECT_EQ(world.job(a).ran, span("10s"));
  EXPECT_EQ(world.job(a).paused, Duration::zero());
}

}  // namespace
}  // namespace paceline
