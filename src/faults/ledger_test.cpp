// The ledger notices each fault that it is for: a world in order is told of wrongly, in one way at a
// time.
#include "faults/ledger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "plan/draft.hpp"
#include "store/memory/memory_store.hpp"
#include "support/world.hpp"

namespace paceline::faults {
namespace {

using ::testing::Contains;
using testing::ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::span;
using testing::World;

class LedgerTest : public ::testing::Test {
 protected:
  // A job with two workers that run, one slot each.
  LedgerTest() {
    job = world.run("2 retry=1 grace=10s", 2);
    commit();
    for (const std::int32_t rank : {0, 1}) start(rank);
  }

  [[nodiscard]] ProcessKey key(std::int32_t rank) const { return {job, Generation{1}, rank}; }
  [[nodiscard]] const Seat& seat(std::int32_t rank) const {
    return world.job(job).current->workers.at(static_cast<std::size_t>(rank)).seat;
  }
  void start(std::int32_t rank) { ledger.started(world.now(), "box", key(rank), seat(rank).slots); }

  void end(const ProcessKey& worker) {
    ledger.ended(world.now(), {worker, Cause::exited, 0, 0, "", world.now()}, false);
  }

  // Tells of what was not told yet.
  void commit() { commit(world.state()); }
  void commit(const State& state) {
    const auto entries = std::span(world.journal()).subspan(told);
    told = world.journal().size();
    std::vector<JobId> all;
    for (const Job& each : state.jobs()) all.push_back(each.id);
    ledger.committed(world.now(), entries, state, all);
  }
  void expect(const std::string& sentence) {
    EXPECT_THAT(ledger.faults(), Contains(HasSubstr(sentence)));
  }

  World world{"1x6 box"};
  Ledger ledger;
  std::size_t told = 0;
  JobId job;
};

TEST_F(LedgerTest, IsContentWithAWorldInOrder) {
  for (const std::int32_t rank : {0, 1}) end(key(rank));
  world.ended(job);
  commit();
  ledger.passed(world.now() + span("1h"));
  ledger.at_rest(world.now(), world.state());
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(LedgerTest, SeesAWorkerStartedTwice) {
  end(key(0));
  start(0);
  expect("worker 0 of generation 1 of job 1 is started a second time");
}

TEST_F(LedgerTest, SeesAWorkerThatNobodyWants) {
  ledger.started(world.now(), "box", {job, Generation{2}, 0}, {5});
  expect("is started, and the state does not want it");
  expect("worker 0 of generation 2 of job 1 is started while worker 0 of generation 1");
}

// The first two change places, and rank 1 is new.
class GoingOnLedgerTest : public LedgerTest {
 protected:
  GoingOnLedgerTest() {
    more = world.run("1..3 name=more", 2);
    commit();
    for (const std::int32_t number : {0, 1}) begin(born(1, number));
    const auto slots = [&](std::int32_t rank) {
      return world.job(more).current->workers[static_cast<std::size_t>(rank)].seat;
    };
    world.resize_in_place(more, {slots(1), {NodeId{0}, {5}}, slots(0)},
                          {{born(1, 0), 2}, {born(1, 1), 0}});
    commit();
  }
  [[nodiscard]] ProcessKey born(std::uint32_t generation, std::int32_t number) const {
    return {more, Generation{generation}, number};
  }
  void begin(const ProcessKey& process) {
    ledger.started(world.now(), "box", process, world.job(more).find_worker(process)->seat.slots);
  }
  // Rank 1 is there, and all have met.
  void grow() {
    begin(born(2, 2));
    world.tell(WorkerStarted{born(2, 2), 1});
    world.tell(WorkerReady{born(2, 2), Generation{2}});
    commit();
    ledger.enrolled(world.now(), born(1, 0), {Generation{2}, 2, 3});
    ledger.enrolled(world.now(), born(1, 1), {Generation{2}, 0, 3});
    world.tell(GangStands{more, Generation{2}});
    commit();
  }
  JobId more;
};

TEST_F(GoingOnLedgerTest, IsContentWithProcessesThatGoOn) {
  grow();
  ledger.passed(world.now() + span("1h"));
  for (const ProcessKey& each : {born(1, 0), born(1, 1), born(2, 2), key(0), key(1)}) end(each);
  world.ended(more);
  world.ended(job);
  commit();
  ledger.at_rest(world.now(), world.state());
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(GoingOnLedgerTest, SeesAPlaceThatIsToldWrongly) {
  grow();
  ledger.enrolled(world.now(), born(1, 0), {Generation{2}, 0, 3});
  expect("worker 0 of generation 1 of job 2 is told a place that is not its own");
}

TEST_F(GoingOnLedgerTest, SeesAPlaceThatIsToldBeforeNewcomersAreReady) {
  ledger.enrolled(world.now(), born(1, 0), {Generation{2}, 2, 3});
  expect("worker 0 of generation 1 of job 2 is told a place that is not its own");
}

TEST_F(GoingOnLedgerTest, SeesAProcessThatGoesOnStartedAgain) {
  begin(born(1, 1));
  expect("worker 1 of generation 1 of job 2 is started a second time");
}

TEST_F(GoingOnLedgerTest, SeesANewcomerThatNeverComes) {
  ledger.passed(world.now() + span("1h"));
  expect("worker 2 of generation 2 of job 2 is never started");
}

TEST_F(GoingOnLedgerTest, SeesOneThatShouldHaveLeft) {
  grow();
  const auto first = world.job(more).current->workers[0].seat;
  world.resize_in_place(more, {first}, {{born(1, 1), 0}});
  commit();
  ledger.passed(world.now() + span("1h"));
  expect("worker 0 of generation 1 of job 2 outlives its stop");
  expect("worker 2 of generation 2 of job 2 outlives its stop");
  EXPECT_THAT(ledger.faults(), Not(Contains(HasSubstr("worker 1 of generation 1 of job 2"))));
}

TEST_F(LedgerTest, SeesTwoWorkersInASlot) {
  const JobId other = world.run("1 name=other", 1);
  commit();
  ledger.started(world.now(), "box", {other, Generation{1}, 0}, seat(1).slots);
  expect("is started in slot 1 of box, where worker 1 of generation 1 of job 1 is alive");
}

// A job that lends its slots, and another that ran in them: nobody was told that it is gone.
class LendingLedgerTest : public ::testing::Test {
 protected:
  LendingLedgerTest() {
    giver = world.run("1 memory=1", 1);
    other = world.submit("1 name=other");
    commit();
    start(giver);
    world.lend(giver, other, 1);
    commit();
    start(other);
    world.started(other);
    world.ended(other);
  }
  void commit() {
    const auto entries = std::span(world.journal()).subspan(told);
    told = world.journal().size();
    const std::vector<JobId> both{giver, other};
    ledger.committed(world.now(), entries, world.state(), both);
  }
  void start(JobId job) { ledger.started(world.now(), "cpu-0", {job, Generation{1}, 0}, {0}); }
  void end(const ProcessKey& worker) {
    ledger.ended(world.now(), {worker, Cause::exited, 0, 0, "", world.now()}, false);
  }

  World world{"1x1 cpu memory=4"};
  Ledger ledger;
  std::size_t told = 0;
  JobId giver, other;
};

TEST_F(LendingLedgerTest, IsContentWithOneAtWorkAndOneFrozenInASlot) {
  end({other, Generation{1}, 0});
  commit();
  world.start(giver, 1);
  commit();
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(LendingLedgerTest, SeesOneThatGoesOnBesideAnother) {
  world.start(giver, 1);
  commit();
  EXPECT_THAT(ledger.faults(), Contains(HasSubstr("goes on in slot 0 of cpu-0, where")));
}

TEST_F(LedgerTest, SeesAWorkerWhoseGenerationIsOver) {
  world.cancel(job);
  world.killed(job);
  commit();
  expect("is alive, and the state has given it up");
}

TEST_F(LedgerTest, SeesAWorkerThatOutlivesItsStop) {
  world.cancel(job);
  commit();
  ledger.passed(world.now() + span("10s") + kPatience);
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.passed(world.now() + span("12s") + kPatience);
  expect("outlives its stop");
}

TEST_F(LedgerTest, BlamesNoWorkerForAStopThatItsMachineCouldNotHear) {
  ledger.away(world.state().nodes().front().spec.name, world.now() + span("1h"));
  world.cancel(job);
  commit();
  ledger.passed(world.now() + span("12s") + kPatience);
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.passed(world.now() + span("3601s") + kPatience);
  expect("outlives its stop");
}

TEST_F(LedgerTest, SeesAWorkerAtWorkInAPausedJob) {
  world.pause(job);
  commit();
  ledger.worked(world.now() + span("1s"), key(0));
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.worked(world.now() + span("1s") + kPatience, key(0));
  expect("works while it is paused");
}

TEST_F(LedgerTest, SeesAGangThatStaysInPart) {
  const JobId other = world.submit("2 name=other");
  world.start(other, 2);
  commit();
  ledger.started(world.now(), "box-0", {other, Generation{1}, 0}, {2});
  ledger.passed(world.now() + kPatience);
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.away(world.state().nodes().front().spec.name, world.now() + span("1m"));
  ledger.passed(world.now() + kPatience + span("50s"));
  EXPECT_THAT(ledger.faults(), IsEmpty()) << "its machine was away";
  ledger.passed(world.now() + kPatience + span("90s"));
  expect("generation 1 of job 2 is in part: 1 of 2 workers were started");
}

TEST_F(LedgerTest, HasPatienceAsLongAsTheServerDoesNotWork) {
  const JobId other = world.submit("2 name=other");
  world.start(other, 2);
  commit();
  ledger.started(world.now(), "box-0", {other, Generation{1}, 0}, {2});
  ledger.passed(world.now() + span("10s"), false);
  ledger.passed(world.now() + span("40s"));
  ledger.passed(world.now() + kPatience + span("30s"));
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.passed(world.now() + kPatience + span("31s"));
  expect("generation 1 of job 2 is in part: 1 of 2 workers were started");
}

TEST_F(LedgerTest, KnowsMachinesOfOneNameApart) {
  const Node& node = world.state().nodes().front();
  NodeSpec spec = node.spec;
  spec.machine = "first";
  world.tell(NodeUp{node.id, spec});
  const JobId other = world.submit("2 name=other");
  world.start(other, 2);
  commit();
  ledger.started(world.now(), "box-0", {other, Generation{1}, 0}, {2});
  ledger.away("first", world.now() + span("1m"));
  ledger.away("second", world.now() + span("1h"));
  ledger.passed(world.now() + kPatience + span("50s"));
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.passed(world.now() + kPatience + span("90s"));
  expect("generation 1 of job 2 is in part: 1 of 2 workers were started");
}

// ---- the server's time ----

// It starts anew soon, finds what turns out to be in the journal, and dies before it writes; half an
// hour later it starts again and does.
class StandingStillTest : public LedgerTest {
 protected:
  void recover(Duration after) {
    const auto untold = std::span(world.journal()).subspan(told);
    told = world.journal().size();
    ledger.recovered(world.now() + after, untold, world.state());
  }
  void commit_in(const std::string& boot) {
    recover(span("30m"));
    world.tell(ClockSet{{}, Boot{boot, world.now()}});
    world.tell(RangeSet{job, {1, 2, 2}});
    const auto entries = std::span(world.journal()).subspan(told);
    told = world.journal().size();
    ledger.committed(world.now() + span("30m"), entries, world.state(), {&job, 1});
  }
};

TEST_F(StandingStillTest, CountsNoTimeWhileTheServersMachineIsAway) {
  ledger.stands_still("second");
  recover(span("10s"));
  commit_in("second");
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(StandingStillTest, GoesOnThoughAnEntryOfTheBootBeforeTurnsUp) {
  world.tell(ClockSet{{}, Boot{"first", world.now()}});
  ledger.stands_still("second");
  recover(span("10s"));
  commit_in("second");
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(StandingStillTest, IsOverOnceAnEntryOfTheNewBootTurnsUp) {
  ledger.stands_still("second");
  world.tell(ClockSet{{}, Boot{"second", world.now()}});
  recover(span("10s"));
  commit_in("second");
  expect("job 1 is there for 1800.0 s, and it is said for");
}

TEST_F(StandingStillTest, IsNothingThatAServerAloneDoes) {
  recover(span("10s"));
  commit_in("first");
  expect("job 1 is there for 1800.0 s, and it is said for");
}

// ---- states that are not what they should be ----

TEST_F(LedgerTest, SeesASlotLeasedTwice) {
  StateParts parts = world.state().parts();
  parts.jobs.at(JobId{1}).current->workers[0].seat =
      parts.jobs.at(JobId{1}).current->workers[1].seat;
  commit(State(parts));
  expect("worker 0 lacks the lease of slot 1");
}

TEST_F(LedgerTest, SeesASlotPromisedTwice) {
  StateParts parts = world.state().parts();
  parts.nodes[0].slots[5].promise = key(0);
  commit(State(parts));
  expect("is promised to a worker that has no seat there");
  expect("is promised without an ending lease");
}

TEST_F(LedgerTest, SeesAJobThatIsOverAndComesBack) {
  world.cancel(job);
  for (const std::int32_t rank : {0, 1}) end(key(rank));
  world.killed(job);
  commit();
  StateParts parts = world.state().parts();
  parts.jobs.at(JobId{1}).state = JobState::completed;
  commit(State(parts));
  expect("job 1 was CANCELLED and is COMPLETED again");
}

TEST_F(LedgerTest, SeesAJobThatIsOverTwice) {
  world.cancel(job);
  for (const std::int32_t rank : {0, 1}) end(key(rank));
  world.killed(job);
  commit();
  StateParts parts = world.state().parts();
  *parts.jobs.at(JobId{1}).ended_at += span("1s");
  commit(State(parts));
  expect("job 1 was CANCELLED and is CANCELLED again");
}

TEST_F(LedgerTest, SeesAGenerationThatComesBack) {
  StateParts parts = world.state().parts();
  parts.jobs.at(JobId{1}).last_generation = Generation{7};
  commit(State(parts));
  parts.jobs.at(JobId{1}).current->generation = Generation{3};
  for (Slot& slot : parts.nodes[0].slots) {
    if (slot.lease) slot.lease->worker.born = Generation{3};
  }
  commit(State(parts));
  expect("generation 3 of job 1 comes back");
}

TEST_F(LedgerTest, SeesASecondGenerationThatFormsTooLate) {
  StateParts parts = world.state().parts();
  parts.jobs.at(JobId{1}).forming = parts.jobs.at(JobId{1}).current;
  commit(State(parts));
  expect("generation 1 of job 1 forms too late");
}

// Others were to follow it, and did not come about.
TEST_F(LedgerTest, IsContentWithAGangThatTakesItsLentSlotsBack) {
  StateParts parts = world.state().parts();
  Job& mine = parts.jobs.at(JobId{1});
  mine.last_generation = Generation{7};
  mine.state = JobState::paused;
  mine.current->lent_at = world.now();
  commit(State(parts));
  mine.forming = mine.current;
  commit(State(parts));
  EXPECT_THAT(ledger.faults(), Not(Contains(HasSubstr("too late"))));
  mine.forming->generation = Generation{8};
  commit(State(parts));
  expect("generation 8 of job 1 forms too late");
}

TEST_F(LedgerTest, SeesAJobThatIsLost) {
  ledger.promised(JobId{2}, "digits", kPeople);
  commit();
  expect("job 2 (digits) was promised and is not there");
}

TEST_F(LedgerTest, SeesAJobThatIsDoubled) {
  world.submit("1 name=digits");
  world.submit("1 name=digits");
  commit();
  expect("digits is submitted twice");
}

TEST_F(LedgerTest, SeesAnEntryThatIsMissing) {
  world.pause(job);
  world.resume(job);
  ++told;
  commit();
  expect("follows entry");
}

TEST_F(LedgerTest, SeesAStateThatIsNotWhatTheEntriesSay) {
  ledger.recovered(world.now(), {}, world.state());
  EXPECT_THAT(ledger.faults(), IsEmpty());
  StateParts parts = world.state().parts();
  parts.jobs.at(JobId{1}).retries_used = 1;
  ledger.recovered(world.now(), {}, State(parts));
  expect("the state is not what the entries say");
}

TEST_F(LedgerTest, SeesAStateThatForgetsItsLastEntry) {
  StateParts parts = world.state().parts();
  world.pause(job);
  commit();
  ledger.recovered(world.now(), {}, State(parts));
  expect("the state ends at entry");
}

TEST_F(LedgerTest, SeesAChangeWithoutAReason) {
  const JobId other = world.submit("1");
  Plan plan = world.plan([&](const Snapshot&, Draft& draft) {
    draft.start(other, draft.fit(other, 1).value(), {ReasonCode::starts, {1}, {}});
  });
  plan.changes[0].reason = {};
  world.fold(plan);
  commit();
  expect("the start of job 2 has no reason");
}

// ---- the store ----

// It has what the world's journal says, and a job of people's that was promised.
class StoreLedgerTest : public LedgerTest {
 protected:
  StoreLedgerTest() {
    other = world.submit("1 name=digits");
    commit();
    ledger.promised(other, "digits", world.job(other).spec->uid);
  }
  // With so many of the entries.
  void keep(std::size_t entries, const LaunchSpec& launch) {
    const auto all = std::span(world.journal()).first(entries);
    const SubmissionKey key{world.job(other).spec->uid, "digits", other, world.now()};
    ASSERT_TRUE(disk.append({{all.begin(), all.end()}, {{other, launch}}, {}, {key}}));
    ledger.compare(world.now(), world.now(), disk);
  }
  [[nodiscard]] WorkerLaunch worker(const std::string& of) const {
    WorkerLaunch launch;
    launch.key = {other, Generation{1}, 0};
    launch.job_name = "digits";
    launch.launch = launch_of(of);
    return launch;
  }
  MemoryStore disk;
  JobId other;
};

TEST_F(StoreLedgerTest, IsContentWithAStoreInOrder) {
  keep(world.journal().size(), launch_of("digits"));
  ledger.launched(world.now(), "box", worker("digits"));
  EXPECT_THAT(ledger.faults(), IsEmpty());
}

TEST_F(StoreLedgerTest, SeesAStoreThatLacksAnEntry) {
  keep(world.journal().size() - 1, launch_of("digits"));
  expect("the store is not what the entries say");
}

TEST_F(StoreLedgerTest, SeesACommandOfAnotherJob) {
  keep(world.journal().size(), launch_of("letters"));
  expect("the command of job 2 is not there");
  ledger.launched(world.now(), "box", worker("letters"));
  expect("worker 0 of generation 1 of job 2 is started with what its owner did not give");
}

TEST_F(StoreLedgerTest, SeesAKeyThatIsForgotten) {
  ledger.compare(world.now(), world.now(), disk);
  expect("the key of job 2 is not there");
}

class RetiringLedgerTest : public ::testing::Test {
 protected:
  RetiringLedgerTest() {
    world.node_down("cpu-1");
    commit();
  }
  void commit() {
    const auto entries = std::span(world.journal()).subspan(told);
    told = world.journal().size();
    ledger.committed(world.now(), entries, world.state(), {});
  }

  World world{"2x2 cpu"};
  Ledger ledger;
  std::size_t told = 0;
};

TEST_F(RetiringLedgerTest, SeesANodeThatRetiresTooEarly) {
  world.node_retired("cpu-1");
  commit();
  EXPECT_THAT(ledger.faults(), Contains(HasSubstr("node 1 retires too early")));
}

TEST_F(RetiringLedgerTest, ANodeThatLeftMayComeBackBeforeItsRetirementIsTold) {
  ledger.nodes_left({"cpu-1"});
  world.node_retired("cpu-1");
  ledger.nodes_left({});
  commit();
  EXPECT_THAT(ledger.faults(), IsEmpty());
  ledger.nodes_left({"cpu-1"});
  world.node_up("cpu-1");
  world.node_down("cpu-1");
  ledger.nodes_left({});
  commit();
  world.node_retired("cpu-1");
  commit();
  EXPECT_THAT(ledger.faults(), Contains(HasSubstr("node 1 retires too early")));
}

TEST_F(LedgerTest, SeesWhatIsLeftOverAtTheEnd) {
  ledger.at_rest(world.now(), world.state());
  expect("job 1 is still RUNNING");
  expect("worker 1 of generation 1 of job 1 is still alive on box");
}

}  // namespace
}  // namespace paceline::faults
