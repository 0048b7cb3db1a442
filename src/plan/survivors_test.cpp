// Processes that go on in the next generation of their job, with other ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "base/rng.hpp"
#include "model/unmet.hpp"
#include "plan/apply.hpp"
#include "plan/assemble.hpp"
#include "plan/check.hpp"
#include "plan/decide.hpp"
#include "plan/draft.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::Contains;
using testing::ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

// A job whose two workers run in the slots 0 and 1 of a node with four.
class Survivors : public ::testing::Test {
 protected:
  explicit Survivors(std::string_view cluster = "1x4 box") : world_{cluster} {
    job_ = world_.run("1..4 elastic=restart retry=1 grace=10s", 2);
    world_.tell(GangStands{job_, Generation{1}});
  }

  static Seat seat(std::uint32_t slot) { return {NodeId{0}, {slot}}; }
  [[nodiscard]] ProcessKey born(std::uint32_t generation, std::int32_t number) const {
    return {job_, Generation{generation}, number};
  }
  [[nodiscard]] const Job& job() const { return world_.job(job_); }
  [[nodiscard]] const Slot& slot(std::uint32_t index) const {
    return world_.state().slot({NodeId{0}, index});
  }
  [[nodiscard]] std::vector<ProcessKey> processes() const {
    std::vector<ProcessKey> all;
    for (std::int32_t rank = 0; rank < job().current->size(); ++rank)
      all.push_back(job().current->process(job_, rank));
    return all;
  }
  void ends(const ProcessKey& process, const Ending& how) {
    Ending e = how;
    e.at = world_.now();
    world_.tell(WorkerEnded{process, e});
  }
  static Ending told(Cause cause) {
    Ending e = ending("signal 15");
    e.cause = cause;
    return e;
  }

  // Three workers: the first two change places, and rank 1 is new.
  void grow() {
    world_.resize_in_place(job_, {seat(1), seat(2), seat(0)}, {{born(1, 0), 2}, {born(1, 1), 0}});
  }
  void come(const ProcessKey& newcomer) {
    world_.tell(WorkerStarted{newcomer, 4711});
    world_.tell(WorkerReady{newcomer, job().last_generation});
  }
  void stand() { world_.tell(GangStands{job_, job().current->generation}); }
  void grown() {
    grow();
    come(born(2, 2));
    stand();
  }
  // One worker: rank 0 leaves.
  void shrink() { world_.resize_in_place(job_, {seat(1)}, {{born(1, 1), 0}}); }

  World world_;
  JobId job_;
};

TEST_F(Survivors, TrainUntilTheirNewcomersAreReady) {
  grow();
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->generation, Generation{1});
  EXPECT_EQ(job().forming->generation, Generation{2});
  EXPECT_EQ(slot(2).lease, (Lease{born(2, 2), false}));
  EXPECT_EQ(job().leased, 3);
  EXPECT_FALSE(job().resizable()) << "one generation at a time";
  world_.tell(WorkerStarted{born(2, 2), 4711});
  EXPECT_EQ(job().current->generation, Generation{1});
  world_.tell(WorkerReady{born(2, 2), Generation{1}});
  EXPECT_EQ(job().current->generation, Generation{1}) << "for another one";
  world_.tell(WorkerReady{born(2, 2), Generation{2}});
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_FALSE(job().forming);
}

TEST_F(Survivors, KeepNameSlotsAndPidWhenTheirRanksChange) {
  grow();
  come(born(2, 2));
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 1), born(2, 2), born(1, 0)));
  EXPECT_EQ(slot(0).lease, (Lease{born(1, 0), false}));
  EXPECT_EQ(slot(1).lease, (Lease{born(1, 1), false}));
  EXPECT_EQ(slot(2).lease, (Lease{born(2, 2), false}));
  EXPECT_EQ(job().current->workers[2].pid, 4000);
  EXPECT_EQ(job().current->workers[1].pid, 4711);
  EXPECT_EQ(job().leased, 3);
  EXPECT_EQ(job().attempt, 1) << "an attempt lasts as long as a worker survives";
  EXPECT_EQ(job().resizes, 1);
  stand();
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().bill.total(), 0) << "no work is lost";
}

TEST_F(Survivors, GoOnWithoutNewcomersThatAreLate) {
  grow();
  EXPECT_EQ(job().newcomers_since(), std::nullopt) << "they don't run yet";
  world_.tell(NewcomersLate{job_, Generation{2}});
  EXPECT_TRUE(job().forming);
  world_.tell(WorkerStarted{born(2, 2), 4711});
  EXPECT_EQ(job().newcomers_since(), world_.now());
  world_.tell(NewcomersLate{job_, Generation{1}});
  EXPECT_TRUE(job().forming) << "of another generation";
  world_.tell(NewcomersLate{job_, Generation{2}});
  EXPECT_FALSE(job().forming);
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->joins_failed, 1);
  ASSERT_EQ(job().parting.size(), 1U);
  EXPECT_EQ(job().parting[0].process, born(2, 2));
  EXPECT_FALSE(job().parting[0].joined);
  world_.tell(WorkerReady{born(2, 2), Generation{2}});
  EXPECT_EQ(job().current->generation, Generation{1});
}

TEST_F(Survivors, MeasureHowLongTheyTrainNoStep) {
  grow();
  world_.advance(testing::span("30s"));
  come(born(2, 2));
  world_.advance(testing::span("2s"));
  stand();
  EXPECT_EQ(job().in_place_pauses, 1);
  EXPECT_EQ(job().in_place_pause, 2) << "newcomers get ready while the others train";
  EXPECT_EQ(job().resize_pauses, 0);
}

TEST_F(Survivors, KeepTheirUnsavedWork) {
  world_.advance(testing::span("60s"));
  grown();
  EXPECT_EQ(job().unsaved(world_.now()), testing::span("60s"));
}

TEST_F(Survivors, AreStartedNoSecondTime) {
  grown();
  world_.tell(WorkerStarted{born(1, 0), 9999});
  EXPECT_EQ(job().current->workers[2].pid, 4000);
}

TEST_F(Survivors, SpeakForTheirGenerationAndForThoseThatTheyWentOnFrom) {
  grown();
  Progress report;
  report.step = 7;
  world_.tell(Progressed{job_, Generation{1}, report});
  ASSERT_TRUE(job().progress) << "it was said before they went on, and is heard now";
  EXPECT_FALSE(job().speed_mark) << "nothing is measured by it";
  report.step = 8;
  world_.tell(Progressed{job_, Generation{2}, report});
  EXPECT_EQ(job().progress->step, 8U);
  world_.resize_in_place(job_, {seat(2)}, {{born(2, 2), 0}});
  report.step = 9;
  world_.tell(Progressed{job_, Generation{1}, report});
  EXPECT_EQ(job().progress->step, 8U) << "none of those is left";
  world_.tell(Progressed{job_, Generation{2}, report});
  EXPECT_EQ(job().progress->step, 9U);
}

TEST_F(Survivors, EndTheGangThatTheyAreInWhereTheirScriptFails) {
  grown();
  ends(born(1, 0), ending("1"));
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_EQ(job().current->workers[2].state, WorkerState::ended);
  EXPECT_EQ(job().current->stop->cause, Cause::gang_failed);
  EXPECT_FALSE(slot(0).lease) << "its slot is free";
  ends(born(1, 1), told(Cause::gang_failed));
  ends(born(2, 2), told(Cause::gang_failed));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 1);
  EXPECT_EQ(world_.state().slots_leased(), 0);
}

TEST_F(Survivors, CompleteTheirJob) {
  grown();
  world_.ended(job_);
  EXPECT_EQ(job().state, JobState::completed);
}

TEST_F(Survivors, GoOnAtOnceWhereNobodyJoins) {
  shrink();
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 1)));
  ASSERT_EQ(job().parting.size(), 1U);
  EXPECT_EQ(job().parting[0].process, born(1, 0));
  EXPECT_TRUE(job().parting[0].joined);
  EXPECT_EQ(slot(0).lease, (Lease{born(1, 0), true}));
  EXPECT_EQ(slot(1).lease, (Lease{born(1, 1), false})) << "it stays";
  stand();
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_FALSE(job().resizes_in_place()) << "one has not left yet";
  EXPECT_FALSE(job().resizable()) << "by a restart it could be, and need not";
  ends(born(1, 0), ending("0"));
  EXPECT_TRUE(job().parting.empty());
  EXPECT_TRUE(job().resizes_in_place());
  EXPECT_TRUE(job().resizable());
  EXPECT_EQ(job().leased, 1);
  EXPECT_FALSE(slot(0).lease);
}

TEST_F(Survivors, GoOnHoweverSomebodyLeft) {
  shrink();
  ends(born(1, 0), ending("1"));
  stand();
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().retries_used, 0);
}

TEST_F(Survivors, GiveASlotToAnotherJobOnceTheLeaverIsGone) {
  const JobId other = world_.submit("1");
  world_.advance(testing::span("1s"));
  const JobId filler = world_.run("2", 2);
  Change shrinks{ChangeKind::resize,
                 job_,
                 Generation{2},
                 {seat(1)},
                 {ReasonCode::shrinks_for, {2, 1}, {}},
                 1,
                 other,
                 {{born(1, 1), 0}}};
  Change starts{
      ChangeKind::start, other, Generation{1}, {seat(0)}, {ReasonCode::starts, {1}, {}}, 1, {}};
  // The start stands first in the plan.
  world_.fold(Plan{world_.state().round() + 1, "fifo", "", {starts, shrinks}, {}, {}, {}});
  EXPECT_EQ(slot(0).promise, (ProcessKey{other, Generation{1}, 0}));
  EXPECT_EQ(world_.job(other).state, JobState::starting);
  ends(born(1, 0), ending("0"));
  EXPECT_EQ(slot(0).lease, (Lease{{other, Generation{1}, 0}, false}));
  EXPECT_EQ(world_.job(filler).state, JobState::running);
}

TEST_F(Survivors, WaitForSlotsThatOthersLeave) {
  const JobId filler = world_.run("2", 2);
  world_.cancel(filler);
  ASSERT_TRUE(slot(2).lease->ending);
  Change grows{ChangeKind::resize,
               job_,
               Generation{2},
               {seat(0), seat(1), seat(2)},
               {ReasonCode::grows, {2, 3}, {}},
               1,
               {},
               {{born(1, 0), 0}, {born(1, 1), 1}}};
  world_.fold(Plan{world_.state().round() + 1, "fifo", "", {grows}, {}, {}, {}});
  EXPECT_EQ(slot(2).promise, born(2, 2));
  EXPECT_EQ(unmet_of_newcomer(world_.state(), job(), 2), std::nullopt);
  world_.killed(filler);
  EXPECT_EQ(unmet_of_newcomer(world_.state(), job(), 2), Unmet::start);
  come(born(2, 2));
  EXPECT_EQ(job().current->generation, Generation{2});
}

// ---- newcomers that don't come ----

// Nor those beside them: it may be days.
TEST(SurvivorsOnTwo, GoOnWithoutNewcomersOnAMachineThatIsNotHeard) {
  World world("3x1 box");
  const JobId id = world.run("1..3 elastic=restart", 1);
  world.stands(id);
  const auto seat = [](std::uint32_t node) { return Seat{NodeId{node}, {0}}; };
  const auto grow = [&] {
    const ProcessKey first = world.job(id).current->process(id, 0);
    world.resize_in_place(id, {seat(0), seat(1), seat(2)}, {{first, 0}});
    const ProcessKey there = world.job(id).forming->process(id, 2);
    world.tell(WorkerStarted{there, 4711});
    world.tell(WorkerReady{there, there.born});
  };
  grow();
  world.node_down("box-1");
  const Job& job = world.job(id);
  EXPECT_FALSE(job.forming);
  EXPECT_EQ(job.state, JobState::running);
  EXPECT_EQ(job.current->joins_failed, 0) << "it is no fault of theirs";
  EXPECT_EQ(job.parting.size(), 2U);
  world.node_up("box-1");
  for (const Parting& each : std::vector(job.parting)) world.ended(each.process, ending("0"));
  grow();
  world.node_down("box-0");
  EXPECT_FALSE(world.job(id).forming) << "the one that they would meet can't be told";
}

TEST_F(Survivors, GoOnAsTheyWereWhereANewcomerEnds) {
  grow();
  world_.tell(WorkerStarted{born(2, 2), 4711});
  ends(born(2, 2), ending("1"));
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().current->generation, Generation{1});
  EXPECT_FALSE(job().forming);
  EXPECT_TRUE(job().parting.empty());
  EXPECT_FALSE(slot(2).lease);
  EXPECT_EQ(job().retries_used, 0);
  EXPECT_EQ(job().last_generation, Generation{2}) << "no name is given twice";
}

TEST_F(Survivors, AreResizedByRestartWhereNewcomersFailAgainAndAgain) {
  for (std::uint32_t generation = 2; generation <= 4; ++generation) {
    EXPECT_TRUE(job().resizes_in_place());
    world_.resize_in_place(job_, {seat(0), seat(1), seat(2)}, {{born(1, 0), 0}, {born(1, 1), 1}});
    ends(born(generation, 2), ending("1"));
  }
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_FALSE(job().resizes_in_place());
}

TEST_F(Survivors, SendNewcomersAwayWhereTheJobIsStopped) {
  grow();
  world_.cancel(job_);
  EXPECT_FALSE(job().forming);
  ASSERT_EQ(job().parting.size(), 1U);
  EXPECT_EQ(job().parting[0].process, born(2, 2));
  EXPECT_TRUE(slot(2).lease->ending) << "it may have been started";
  world_.killed(job_);
  EXPECT_EQ(job().state, JobState::stopping) << "one is there still";
  ends(born(2, 2), told(Cause::resized));
  EXPECT_EQ(job().state, JobState::cancelled);
  EXPECT_EQ(world_.state().slots_leased(), 0);
}

TEST_F(Survivors, WaitWithNewcomersThatAreReadyWhileTheirOwnerPausesThem) {
  grow();
  world_.tell(JobRequested{job_, Request::pause, {}});
  come(born(2, 2));
  EXPECT_EQ(job().state, JobState::paused);
  EXPECT_EQ(job().current->generation, Generation{1});
  world_.tell(JobRequested{job_, Request::resume, {}});
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_EQ(job().current->generation, Generation{2});
}

// ---- deaths ----

TEST_F(Survivors, GoOnWithoutOneThatDies) {
  grown();
  world_.advance(testing::span("60s"));
  ends(born(1, 1), ending("signal 9"));
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_EQ(job().current->generation, Generation{3});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(2, 2), born(1, 0)));
  EXPECT_FALSE(slot(1).lease);
  EXPECT_EQ(job().retries_used, 0);
  stand();
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().resizes, 1) << "nobody planned it";
}

TEST_F(Survivors, GoOnWithoutTwoThatDieAtOnce) {
  grown();
  world_.advance(testing::span("60s"));
  ends(born(1, 1), ending("signal 9"));
  ends(born(1, 0), told(Cause::node_lost));
  EXPECT_EQ(job().current->generation, Generation{4});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(2, 2)));
  stand();
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(Survivors, CompleteWhereTheyEndedWellBeforeTheyMetTheNewcomer) {
  grow();
  come(born(2, 2));
  ends(born(1, 0), ending("0"));
  EXPECT_THAT(job().parting, IsEmpty()) << "the other is to meet it";
  ends(born(1, 1), ending("0"));
  ASSERT_EQ(job().parting.size(), 1U);
  EXPECT_EQ(job().parting[0].process, born(2, 2));
  EXPECT_EQ(job().state, JobState::resizing) << "its slots are not empty yet";
  ends(born(2, 2), told(Cause::resized));
  EXPECT_EQ(job().state, JobState::completed);
  EXPECT_FALSE(slot(2).lease);
}

TEST_F(Survivors, OfAGangThatWasStartedAnewAreWaitedFor) {
  const JobId anew = world_.run("1..2 elastic=restart", 1);
  world_.checkpoint(anew);
  world_.change_size(anew, 2);
  world_.ended(anew, told(Cause::resized));
  world_.started(anew, 0);
  world_.tell(GangStands{anew, Generation{2}});  // said early
  world_.ended(anew, 0, ending("0"));
  EXPECT_THAT(world_.job(anew).parting, IsEmpty());
  EXPECT_EQ(world_.job(anew).current->size(), 2);
}

TEST_F(Survivors, OfAGangThatStoodAreWaitedFor) {
  grown();
  ends(born(1, 0), ending("0"));
  ends(born(1, 1), ending("0"));
  EXPECT_THAT(job().parting, IsEmpty());
  ends(born(2, 2), ending("0"));
  EXPECT_EQ(job().state, JobState::completed);
}

// One of two workers died, and one alone is fewer than the job may have.
class TooFew : public Survivors {
 protected:
  TooFew() {
    world_.tell(RangeSet{job_, {2, 4, 2}, {}});
    ends(born(1, 0), ending("signal 9"));
  }
  // The round of a policy that decides nothing.
  Plan round() {
    Plan plan;
    {
      const PackPlacer placer;
      Draft draft(world_.snapshot(), placer, Protects::yes);
      plan = decide(draft, [](const Snapshot&, Draft&) -> Result<void> { return {}; }).value();
    }
    world_.fold(plan);
    return plan;
  }
};

TEST_F(TooFew, WaitForOthersInPlaceOfTheDead) {
  EXPECT_TRUE(job().awaits_replacements());
  EXPECT_EQ(job().state, JobState::resizing);
  EXPECT_EQ(job().current->stop, std::nullopt);
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 1)));
  EXPECT_FALSE(slot(0).lease);
  world_.tell(GangStands{job_, job().current->generation});
  EXPECT_EQ(job().state, JobState::resizing) << "nobody told it its place";
  const Plan plan = round();
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].survivors, (std::vector<Survivor>{{born(1, 1), 0}}));
  EXPECT_EQ(plan.changes[0].reason.code, ReasonCode::replaces_dead);
  EXPECT_TRUE(job().forms_in_place());
  EXPECT_EQ(job().short_since(), std::nullopt);
  come(job().forming->process(job_, 1));
  EXPECT_FALSE(job().awaits_replacements());
  EXPECT_EQ(job().current->size(), 2);
  stand();
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(job().attempt, 1);
  EXPECT_EQ(job().retries_used, 0);
  EXPECT_EQ(job().bill.total(), 0) << "no work is lost";
}

TEST_F(TooFew, WaitForOneThatLeavesBeforeOthersCome) {
  ASSERT_EQ(round().changes.size(), 1U);
  come(job().forming->process(job_, 1));
  stand();
  world_.tell(RangeSet{job_, {1, 1, 1}, {}});
  ASSERT_EQ(round().changes.size(), 1U);
  stand();
  ASSERT_EQ(job().parting.size(), 1U);
  world_.tell(RangeSet{job_, {2, 2, 2}, {}});
  EXPECT_THAT(round().changes, IsEmpty()) << "by a restart it could";
  ends(job().parting[0].process, ending("0"));
  const Plan plan = round();
  ASSERT_EQ(plan.changes.size(), 1U);
  EXPECT_EQ(plan.changes[0].survivors.size(), 1U);
}

TEST_F(TooFew, AlsoOfAJobThatIsNotToBeResized) {
  const JobId rigid = world_.run("2 elastic=no", 2);
  world_.stands(rigid);
  Ending how = ending("signal 9");
  how.at = world_.now();
  world_.tell(WorkerEnded{world_.job(rigid).current->process(rigid, 1), how});
  EXPECT_TRUE(world_.job(rigid).awaits_replacements());
  round();
  EXPECT_TRUE(world_.job(rigid).forms_in_place());
}

TEST_F(TooFew, StartAnewWithoutARetryWhereThereIsNoRoomInTime) {
  EXPECT_EQ(job().short_since(), world_.now());
  world_.tell(NewcomersLate{job_, Generation{1}});
  EXPECT_FALSE(job().current->stop) << "of another generation";
  world_.tell(NewcomersLate{job_, job().current->generation});
  EXPECT_EQ(job().state, JobState::stopping);
  EXPECT_EQ(job().current->stop->cause, Cause::resized);
  ends(born(1, 1), told(Cause::resized));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 0);
}

TEST_F(TooFew, StartAnewWhereNewcomersFailAgainAndAgain) {
  for (int i = 0; i < kJoinsFailedMax; ++i) {
    ASSERT_EQ(job().state, JobState::resizing);
    round();
    const ProcessKey newcomer = job().forming->process(job_, 1);
    world_.tell(WorkerStarted{newcomer, 4711});
    ends(newcomer, ending("1"));
  }
  EXPECT_EQ(job().state, JobState::stopping);
}

TEST_F(TooFew, WaitOnWhereAnotherDiesAndAreAllGoneWithTheLast) {
  ends(born(1, 1), ending("signal 9"));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 1);
}

TEST_F(TooFew, GoOnWhereTheirNumberBecomesEnough) {
  world_.tell(RangeSet{job_, {1, 4, 2}, {}});
  EXPECT_FALSE(job().awaits_replacements());
  stand();
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(TooFew, GoOnWhereTheirNumberBecameEnoughBeforeTheirNewcomersFailed) {
  round();
  ASSERT_TRUE(job().forming);
  world_.tell(RangeSet{job_, {1, 4, 2}, {}});
  const auto newcomer = job().forming->process(job_, 1);
  world_.tell(WorkerStarted{newcomer, 4711});
  ends(newcomer, ending("1"));
  EXPECT_FALSE(job().forming);
  EXPECT_FALSE(job().awaits_replacements());
  stand();
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(TooFew, AreStoppedByTheirOwner) {
  round();
  world_.tell(JobRequested{job_, Request::cancel, {}});
  EXPECT_EQ(job().state, JobState::stopping);
  ends(born(1, 1), told(Cause::cancelled));
  for (const Parting& each : std::vector(job().parting)) ends(each.process, told(Cause::resized));
  EXPECT_EQ(job().state, JobState::cancelled);
}

TEST_F(Survivors, StartAnewWhereTooFewAreLeftInAJournalOfTheRulesBefore) {
  world_.fold_by(3);
  world_.tell(RangeSet{job_, {2, 4, 2}, {}});
  ends(born(1, 0), ending("signal 9"));
  EXPECT_EQ(job().current->stop->cause, Cause::gang_failed);
  ends(born(1, 1), told(Cause::gang_failed));
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 1);
}

TEST_F(Survivors, StopTheGenerationThatFormsWhereOneDies) {
  grow();
  world_.tell(WorkerStarted{born(2, 2), 4711});
  ends(born(1, 1), ending("signal 9"));
  EXPECT_EQ(job().current->generation, Generation{3});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 0)));
  ASSERT_EQ(job().parting.size(), 1U);
  EXPECT_EQ(job().parting[0].process, born(2, 2));
  ends(born(2, 2), told(Cause::resized));
  EXPECT_FALSE(slot(2).lease);
}

// ---- failures in a row ----

// Nine workers, that die one after the other before the rest have met again, until one is left.
class Dying : public Survivors {
 protected:
  Dying() : Survivors("1x11 box") {
    wide = world_.run("1..9 retry=2", 9);
    world_.stands(wide);
  }
  void die(Cause cause, int times) {
    for (int i = 0; i < times; ++i) {
      Ending how = told(cause);
      how.at = world_.now();
      world_.tell(WorkerEnded{world_.job(wide).current->process(wide, 0), how});
    }
  }
  [[nodiscard]] int in_a_row() const { return world_.job(wide).quick_failures; }

  JobId wide;
};

TEST_F(Dying, OneAfterTheOtherIsOneFailureUntilTheRestStand) {
  die(Cause::signalled, 6);
  EXPECT_EQ(in_a_row(), 1);
  EXPECT_EQ(world_.job(wide).state, JobState::resizing);
  world_.stands(wide);
  die(Cause::out_of_memory, 1);
  EXPECT_EQ(in_a_row(), 2);
}

TEST_F(Dying, AllOfThemIsTheSameFailureAndCostsARetry) {
  die(Cause::signalled, 9);
  EXPECT_EQ(world_.job(wide).state, JobState::pending);
  EXPECT_EQ(in_a_row(), 1);
  EXPECT_EQ(world_.job(wide).retries_used, 1);
  world_.advance(testing::span("60s"));
  world_.start(wide, 9);
  world_.started(wide);
  world_.stands(wide);
  die(Cause::signalled, 1);
  EXPECT_EQ(in_a_row(), 2) << "another gang";
}

TEST_F(Dying, WithTheirMachineIsNoFailure) {
  die(Cause::node_lost, 8);
  EXPECT_EQ(in_a_row(), 0);
  EXPECT_EQ(world_.job(wide).state, JobState::resizing);
  die(Cause::node_lost, 1);
  EXPECT_EQ(in_a_row(), 0);
  EXPECT_EQ(world_.job(wide).state, JobState::pending);
}

TEST_F(Dying, AfterTheirMachineIsAFailure) {
  die(Cause::node_lost, 2);
  die(Cause::signalled, 2);
  EXPECT_EQ(in_a_row(), 1);
}

TEST_F(Dying, CountsOneByOneInAJournalOfTheFirstRules) {
  world_.fold_by(kFirstFoldRules);
  die(Cause::node_lost, 2);
  die(Cause::signalled, 2);
  EXPECT_EQ(in_a_row(), 4);
  EXPECT_EQ(world_.job(wide).state, JobState::resizing);
  die(Cause::signalled, 1);
  EXPECT_EQ(world_.job(wide).state, JobState::stopping) << "a crash loop";
}

TEST_F(Survivors, AreACrashLoopWhereOneAfterTheOtherDiesAtOnce) {
  const JobId wide = world_.submit("1..9 retry=0");
  world_.start(wide, 1);
  world_.started(wide);
  world_.tell(GangStands{wide, Generation{1}});
  const auto wider = [&] { return world_.job(wide); };
  for (std::uint32_t i = 0; i < 5 && wider().state == JobState::running; ++i) {
    const Seat own = wider().current->workers[0].seat;
    const ProcessKey first = wider().current->process(wide, 0);
    const Seat other{NodeId{0}, {own.slots[0] == 2 ? 3U : 2U}};
    world_.resize_in_place(wide, {own, other}, {{first, 0}});
    const ProcessKey newcomer = wider().forming->process(wide, 1);
    world_.tell(WorkerStarted{newcomer, 1});
    world_.tell(WorkerReady{newcomer, wider().last_generation});
    world_.tell(GangStands{wide, wider().last_generation});
    Ending killed = ending("signal 9");
    killed.at = world_.now();
    world_.tell(WorkerEnded{newcomer, killed});
    if (wider().current && !wider().current->stop)
      world_.tell(GangStands{wide, wider().last_generation});
  }
  EXPECT_EQ(wider().state, JobState::stopping) << "the fifth ends it";
}

TEST_F(Survivors, EndWithAllOthersWhereNobodySaidThatTheyCanGoOn) {
  const JobId other = world_.run("1..2 retry=1", 2);
  Ending killed = ending("signal 9");
  killed.at = world_.now();
  world_.tell(WorkerEnded{{other, Generation{1}, 0}, killed});
  EXPECT_EQ(world_.job(other).current->stop->cause, Cause::gang_failed);
}

// ---- others ----

TEST_F(Survivors, MayOnlyChangePlaces) {
  world_.resize_in_place(job_, {seat(1), seat(0)}, {{born(1, 0), 1}, {born(1, 1), 0}});
  EXPECT_EQ(job().current->generation, Generation{2});
  EXPECT_EQ(job().current->rank_of(born(1, 0)), 1);
  stand();
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(Survivors, AreStoppedWithTheRestIfTheirJobIsCancelled) {
  shrink();
  world_.cancel(job_);
  EXPECT_TRUE(slot(0).lease->ending);
  EXPECT_TRUE(slot(1).lease->ending);
  ends(born(1, 1), told(Cause::cancelled));
  EXPECT_EQ(job().state, JobState::stopping) << "one that left before is there still";
  ends(born(1, 0), told(Cause::resized));
  EXPECT_EQ(job().state, JobState::cancelled);
}

TEST_F(Survivors, AreRequeuedWithTheirJobIfTheirNodeIsLost) {
  grown();
  world_.node_lost(world_.state().nodes()[0].spec.name);
  EXPECT_EQ(job().state, JobState::pending);
  EXPECT_EQ(job().retries_used, 0);
}

TEST_F(Survivors, MaySurviveAgain) {
  grown();
  world_.resize_in_place(job_, {seat(0), seat(2)}, {{born(1, 0), 0}, {born(2, 2), 1}});
  stand();
  ends(born(1, 1), ending("0"));
  EXPECT_EQ(job().current->generation, Generation{3});
  EXPECT_THAT(processes(), ::testing::ElementsAre(born(1, 0), born(2, 2)));
  EXPECT_EQ(job().state, JobState::running);
}

TEST_F(Survivors, AreThereAgainInAStateFromItsParts) {
  const auto expect_whole = [&] {
    const auto again = assemble(world_.state().parts());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_THAT(testing::differences(world_.state(), *again), IsEmpty());
  };
  grow();
  expect_whole();
  come(born(2, 2));
  expect_whole();
  stand();
  world_.resize_in_place(job_, {seat(0)}, {{born(1, 0), 0}});
  expect_whole();
}

TEST_F(Survivors, AreNotBelievedToBeInTwoRanksOrOfAnotherJob) {
  grown();
  StateParts twice = world_.state().parts();
  twice.nodes[0].slots[2].lease.reset();
  twice.jobs.at(JobId{1}).current->workers[1].process = born(1, 0);
  EXPECT_THAT(assemble(twice).error().message, HasSubstr("or one in two ranks"));
  StateParts other = world_.state().parts();
  other.nodes[0].slots[2].lease.reset();
  other.jobs.at(JobId{1}).current->workers[1].process->job = JobId{9};
  EXPECT_THAT(assemble(other).error().message, HasSubstr("a process of another job"));
}

TEST_F(Survivors, MustBeWorkersThatRunAndStayWhereTheyAre) {
  const auto wrong = [&](const Placement& seats, const std::vector<Survivor>& survivors) {
    Change change{
        ChangeKind::move, job_, Generation{2}, seats, {ReasonCode::grows, {2, 2}, {}}, 0, {},
        survivors};
    return violations(world_.snapshot(), {1, "fifo", "", {change}, {}, {}, {}});
  };
  const Survivor first{born(1, 0), 0}, second{born(1, 1), 1};
  EXPECT_THAT(wrong({seat(0), seat(1)}, {first, second}), IsEmpty());
  EXPECT_THAT(wrong({seat(0), seat(1)}, {{born(2, 0), 0}}),
              Contains("job 1 is to go on with a worker it has not"));
  EXPECT_THAT(wrong({seat(0), seat(1)}, {{born(1, 0), 2}}),
              Contains("job 1 is to go on with a worker it has not"));
  EXPECT_THAT(wrong({seat(2), seat(1)}, {first}),
              Contains("worker 0 of job 1 is to go on elsewhere, or does not run"));
  EXPECT_THAT(wrong({seat(0), seat(1)}, {first, first}),
              Contains("worker 0 of job 1 is to go on twice"));
  EXPECT_THAT(wrong({seat(0), seat(1)}, {first}),
              Contains("a worker that joins job 1 waits for one that leaves it"));
  const JobId waits = world_.submit("1..1");
  Change start{
      ChangeKind::start, waits, Generation{1}, {seat(3)}, {ReasonCode::starts, {1}, {}}, 0, {}};
  start.survivors = {{{waits, Generation{1}, 0}, 0}};
  EXPECT_THAT(violations(world_.snapshot(), {1, "fifo", "", {start}, {}, {}, {}}),
              Contains("job 2 is to go on with a worker it has not"));
}

TEST_F(Survivors, AreNamedByDraftsForJobsThatCanGoOn) {
  const PackPlacer placer;
  const auto planned = [&](std::int32_t workers) {
    Draft draft(world_.snapshot(), placer);
    auto seats = draft.refit(job_, workers);
    draft.resize(job_, *seats, {ReasonCode::grows, {2, workers}, {}});
    return draft.plan().changes.at(0);
  };
  const Change grows = planned(4);
  EXPECT_THAT(grows.survivors,
              ::testing::ElementsAre(Survivor{born(1, 0), 0}, Survivor{born(1, 1), 1}));
  EXPECT_EQ(grows.placement[0], job().current->workers[0].seat);
  EXPECT_EQ(grows.placement[1], job().current->workers[1].seat);
  EXPECT_EQ(planned(1).survivors.size(), 1U);
  const JobId other = world_.run("1..2 elastic=restart", 1);
  Draft draft(world_.snapshot(), placer);
  draft.resize(other, *draft.refit(other, 2), {ReasonCode::grows, {1, 2}, {}});
  EXPECT_THAT(draft.plan().changes.at(0).survivors, IsEmpty()) << "nobody said that it can";
}

// ---- whatever happens ----

// One job whose gangs change in place and otherwise, in a world that checks its state at every
// entry.
class RandomGangs {
 public:
  explicit RandomGangs(std::uint64_t seed) : rng_(seed) {
    job_ = world_.run("1..4 elastic=restart retry=9 grace=10s", 2);
    note_born();
  }

  void run() {
    for (int i = 0; i < 40; ++i) step();
    if (!is_over(job().state)) world_.cancel(job_);
    while (job().current) end_one(Cause::cancelled);
    EXPECT_TRUE(job().parting.empty());
    EXPECT_TRUE(is_over(job().state));
    EXPECT_EQ(world_.state().slots_leased(), 0);
  }
  int in_place = 0;  // changes

 private:
  [[nodiscard]] const Job& job() const { return world_.job(job_); }

  void step() {
    world_.advance(testing::span("20s"));
    if (is_over(job().state)) return;
    if (job().state == JobState::pending) return start_again();
    if (rng_.chance(0.3)) world_.tell(GangStands{job_, job().last_generation});
    if (rng_.chance(0.3)) return get_ready();
    switch (rng_.below(6)) {
      case 0:
        return end_one(rng_.chance(0.3) ? Cause::exited : Cause::preempted);
      case 1:
      case 2:
        return start_some();
      default:
        return change();
    }
  }
  void start_again() {
    world_.advance(testing::span("1h"));
    world_.start(job_, 2);
    note_born();
  }
  void start_some() {
    if (!job().current) return;
    if (rng_.chance(0.6)) return world_.started(job_);
    const auto rank = static_cast<std::int32_t>(rng_.below(job().current->workers.size()));
    world_.tell(WorkerStarted{job().current->process(job_, rank), 1});
  }
  void get_ready() {
    if (!job().forms_in_place()) return;
    for (std::int32_t rank = 0; job().forming && rank < job().forming->size(); ++rank) {
      const ProcessKey process = job().forming->process(job_, rank);
      if (rng_.chance(0.5)) world_.tell(WorkerStarted{process, 1});
      if (rng_.chance(0.5)) world_.tell(WorkerReady{process, job().last_generation});
    }
    note_born();
  }
  // Those that are told to go first; others fail.
  void end_one(Cause cause) {
    std::vector<ProcessKey> alive;
    for (std::int32_t rank = 0; job().current && rank < job().current->size(); ++rank) {
      const auto& worker = job().current->workers[static_cast<std::size_t>(rank)];
      if (worker.state != WorkerState::ended) alive.push_back(job().current->process(job_, rank));
    }
    for (std::int32_t rank = 0; job().forms_in_place() && rank < job().forming->size(); ++rank)
      if (job().joins(rank)) alive.push_back(job().forming->process(job_, rank));
    for (const Parting& each : job().parting) alive.push_back(each.process);
    if (alive.empty()) return;
    Ending how = ending(rng_.chance(0.1) ? "0" : rng_.chance(0.5) ? "1" : "signal 9");
    if (job().current->stop) how.cause = cause;
    how.at = world_.now();
    world_.tell(WorkerEnded{alive[rng_.below(alive.size())], how});
    note_born();
  }
  // Survivors and newcomers in whatever order.
  void change() {
    if (job().state != JobState::running) return;
    Placement seats;
    std::vector<Survivor> survivors;
    std::vector<std::pair<std::uint32_t, std::optional<ProcessKey>>> fillers;
    for (std::uint32_t slot = 0; slot < 6; ++slot) {
      const auto& lease = world_.state().slot({NodeId{0}, slot}).lease;
      if (rng_.chance(lease ? 0.7 : 0.3)) {
        const bool stays = lease && rng_.chance(0.8);
        fillers.emplace_back(slot, stays ? std::optional(lease->worker) : std::nullopt);
      }
    }
    for (std::size_t i = fillers.size(); i > 1; --i)
      std::swap(fillers[i - 1], fillers[rng_.below(i)]);
    for (const auto& [slot, process] : fillers) {
      if (process) survivors.push_back({*process, static_cast<std::int32_t>(seats.size())});
      seats.push_back({NodeId{0}, {slot}});
    }
    const Generation before = job().last_generation;
    try {
      world_.resize_in_place(job_, seats, survivors);
    } catch (const std::invalid_argument&) {
      EXPECT_EQ(job().last_generation, before) << "a change that is refused changes nothing";
      return;
    }
    in_place += survivors.empty() ? 0 : 1;
    note_born();
  }
  // No name is given twice, and no two that live share a number.
  void note_born() {
    if (!job().current) return;
    std::set<std::int32_t> numbers;
    for (std::int32_t rank = 0; rank < job().current->size(); ++rank) {
      const ProcessKey process = job().current->process(job_, rank);
      const auto& worker = job().current->workers[static_cast<std::size_t>(rank)];
      EXPECT_EQ(job().current->rank_of(process), rank);
      EXPECT_TRUE(worker.state == WorkerState::ended || numbers.insert(process.number).second);
      const bool own = process.born == job().current->generation;
      const bool known = !born_.insert(process).second;
      EXPECT_TRUE(own || known) << "a process that goes on was there before";
    }
  }

  Rng rng_;
  World world_{"1x6 box"};
  JobId job_;
  std::set<ProcessKey> born_;
};

TEST(RandomSurvivors, LeaveAStateThatIsWholeWhateverHappens) {
  int in_place = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    SCOPED_TRACE(seed);
    RandomGangs gangs(seed);
    ASSERT_NO_THROW(gangs.run());
    in_place += gangs.in_place;
  }
  EXPECT_GT(in_place, 1'000);
}

}  // namespace
}  // namespace paceline
