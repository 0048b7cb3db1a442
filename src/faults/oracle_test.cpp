// The oracle notices each untruth that it is for: a job in order is told of wrongly, in one way at a
// time.
#include "faults/oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "store/point_choice.hpp"
#include "support/world.hpp"

namespace paceline::faults {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

class OracleTest : public ::testing::Test {
 protected:
  OracleTest() {
    job = world.run("1 retry=1 target=accuracy>=0.9", 1);
    commit();
  }

  [[nodiscard]] ProcessKey key() const { return {job, world.job(job).last_generation, 0}; }
  void commit() {
    for (const Entry& entry : std::span(world.journal()).subspan(told)) oracle.took(entry);
    told = world.journal().size();
    for (const Job& each : world.state().jobs()) oracle.check(world.now(), world.state(), each);
  }
  void dies(Cause cause, std::optional<std::int32_t> code) {
    oracle.ended({key(), cause, code, 0, "", world.now()}, false);
  }
  void fails(std::int32_t code = 1) {
    dies(Cause::exited, code);
    fails_untold(code);
  }
  // By the journal's word alone.
  void fails_untold(std::int32_t code = 1) {
    world.ended(job, ending(std::to_string(code)));
    commit();
  }
  void runs_again() {
    world.advance(std::chrono::hours{1});
    world.start(job, 1);
    world.started(job);
    commit();
  }
  void send(const AgentMessage& message) { oracle.told({Session{1}, ++number, 0, 0, message}); }
  void confirm() { oracle.confirmed(Session{1}, number, world.state()); }
  void write(std::uint64_t report, double accuracy) {
    oracle.wrote(
        {key(), report, world.now(), report, {}, {}, {}, {}, {}, {}, {}, {{"accuracy", accuracy}}});
  }
  [[nodiscard]] MetricPoint point(std::uint64_t report, double accuracy = 0.5) const {
    return {job, key().born, 0, report, world.now(), report, {}, {{"accuracy", accuracy}}};
  }
  void store(const MetricPoint& each) {
    oracle.stored(each);
    ASSERT_TRUE(disk.append({{}, {}, {each}, {}}));
  }
  // The job's points may be thinned from here on.
  void forget() {
    Batch batch;
    batch.forgotten.push_back(world.job(job));
    ASSERT_TRUE(disk.append(batch));
  }
  void compare() {
    for (const Job& each : world.state().jobs()) oracle.compare(disk, each);
    oracle.compare_done();
  }
  void report(double accuracy) {
    Progress progress;
    progress.metrics["accuracy"] = accuracy;
    world.report(job, progress);
  }
  void expect(const std::string& sentence) {
    EXPECT_THAT(faults, ::testing::Contains(HasSubstr(sentence)));
  }

  std::vector<std::string> faults;
  Oracle oracle{[this](std::string what) { faults.push_back(std::move(what)); }};
  World world{"1x4 box"};
  MemoryStore disk;
  std::size_t told = 0;
  std::uint64_t number = 0;
  JobId job;
};

TEST_F(OracleTest, IsContentWithAJobThatFailsAsOftenAsItMay) {
  fails();
  runs_again();
  fails();
  EXPECT_EQ(world.job(job).state, JobState::failed);
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, SeesARetryThatNoFailureCost) {
  fails_untold();
  runs_again();
  expect("has used 1 retries, and 0 of its gangs failed");
}

// A batch that waited for the disk holds both.
TEST_F(OracleTest, IsContentWhereTheLastOfAGangEndsAsItIsGivenUp) {
  const JobId pair = world.run("2 retry=1", 2);
  world.stands(pair);
  commit();
  const Gang gang = *world.job(pair).current;
  const auto ends = [&](std::int32_t rank, Cause cause) {
    oracle.ended({gang.process(pair, rank), cause, {}, 11, "", world.now()}, false);
    Ending how = ending("signal 11");
    how.cause = cause;
    how.at = world.now();
    world.tell(WorkerEnded{gang.process(pair, rank), how});
  };
  ends(0, Cause::node_lost);
  ASSERT_TRUE(world.job(pair).awaits_replacements());
  commit();
  world.tell(NewcomersLate{pair, world.job(pair).current->generation});
  ends(1, Cause::signalled);
  EXPECT_EQ(world.job(pair).retries_used, 0);
  commit();
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, SeesAFailedJobThatHasRetriesLeft) {
  fails_untold();
  runs_again();
  fails();
  EXPECT_EQ(world.job(job).state, JobState::failed);
  expect("it has retries left");
}

TEST_F(OracleTest, SeesACancelledJobThatNobodyAskedFor) {
  for (const bool tells : {true, false}) {
    job = world.run("1", 1);
    commit();
    world.cancel(job);
    if (!tells) told = world.journal().size();
    world.killed(job);
    commit();
    EXPECT_EQ(world.job(job).state, JobState::cancelled);
    EXPECT_EQ(faults.empty(), tells);
  }
  expect("nobody asked for it");
}

TEST_F(OracleTest, SeesATimeoutBeforeItsTime) {
  for (const auto minutes : {60, 10}) {
    job = world.run("1 max_duration=1h", 1);
    commit();
    world.advance(std::chrono::minutes{minutes});
    world.time_limit(job);
    commit();
    world.killed(job);
    commit();
    EXPECT_EQ(world.job(job).state, JobState::timeout);
    EXPECT_EQ(faults.empty(), minutes == 60);
  }
  expect("its time is not over");
}

// ---- crash loops ----

TEST_F(OracleTest, IsContentWithACrashLoop) {
  for (const std::int32_t code : {1, 75}) {
    job = world.run("1 retry=9", 1);
    commit();
    for (int i = 0; i < 4; ++i) fails(code), runs_again();
    fails(code);
    EXPECT_EQ(world.job(job).ending->cause, Cause::crash_loop);
  }
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, SeesACrashLoopOfTooFewFailures) {
  job = world.run("1 retry=9", 1);
  commit();
  for (int i = 0; i < 4; ++i) fails(), runs_again();
  fails_untold();
  expect("4 of its gangs failed in a row");
}

TEST_F(OracleTest, CountsACrashLoopFromTheLastCheckpoint) {
  job = world.run("1 retry=9", 1);
  commit();
  fails(), runs_again();
  world.checkpoint(job);
  commit();
  fails(), runs_again();
  for (int i = 0; i < 3; ++i) fails(), runs_again();
  fails_untold(), runs_again();
  fails_untold();
  EXPECT_EQ(world.job(job).ending->cause, Cause::crash_loop);
  expect("4 of its gangs failed in a row");
}

// It saves and ends there by its own name.
TEST_F(OracleTest, KnowsAProcessThatGoesOnInTheNextGeneration) {
  const ProcessKey survivor = key();
  const Seat seat = world.job(job).current->workers[0].seat;
  world.resize_in_place(job, {seat}, {{survivor, 0}});
  commit();
  const CheckpointSeen seen{survivor, 1, world.now(), "/a.pt", 7, {}};
  oracle.saved(seen);
  world.tell(CheckpointAcknowledged{job, Generation{2}, {"/a.pt", 7, {}, world.now()}});
  commit();
  send(seen);
  confirm();
  EXPECT_THAT(faults, IsEmpty());
  oracle.ended({survivor, Cause::exited, 3, 0, "", world.now()}, false);
  world.ended(job, ending("0"));
  commit();
  expect("a worker of its last gang failed");
}

TEST_F(OracleTest, SeesAnEndThatIsNotWhatHappened) {
  dies(Cause::exited, 0);
  world.ended(job, ending("1"));
  commit();
  EXPECT_THAT(faults, ::testing::Contains(HasSubstr("ended otherwise")));
}

TEST_F(OracleTest, SeesAnEndThatNobodySaw) {
  world.ended(job, ending("1"));
  commit();
  EXPECT_THAT(faults, ::testing::Contains(HasSubstr("did not end so on its machine")));
}

TEST_F(OracleTest, SeesACompletedJobWhoseWorkerFailed) {
  dies(Cause::exited, 3);
  world.ended(job, ending("0"));
  commit();
  EXPECT_THAT(faults, ::testing::Contains(HasSubstr("a worker of its last gang failed")));
}

TEST_F(OracleTest, SeesAReportThatIsConfirmedAndNotStored) {
  WorkerReport report;
  report.key = key();
  report.report = 1;
  send(report);
  confirm();
  EXPECT_THAT(faults, ::testing::Contains(HasSubstr("is confirmed and not stored")));
}

TEST_F(OracleTest, SeesProgressThatIsBehindWhatWasConfirmedAtAJobsEnd) {
  report(0.5);
  commit();
  WorkerReport last;
  last.key = key();
  last.report = 1;
  last.step = 40;
  oracle.stored(point(1));
  send(last);
  confirm();
  world.ended(job, ending("0"));
  commit();
  expect("told step 40, and ended at step 0");
}

TEST_F(OracleTest, SeesACheckpointThatIsConfirmedAndNotKnown) {
  CheckpointSeen seen;
  seen.key = key();
  send(seen);
  confirm();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("a checkpoint of worker 0")));
}

TEST_F(OracleTest, SeesAModelThatIsConfirmedAndNotKnown) {
  ModelSeen seen;
  seen.key = key();
  send(seen);
  confirm();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("a model of worker 0")));
}

// ---- what is kept of what workers wrote ----

TEST_F(OracleTest, IsContentWithReportsThatAreKeptAsTheyWereWritten) {
  for (const std::uint64_t report : {1U, 2U, 4U}) {
    write(report, 0.5);
    store(point(report));
  }
  dies(Cause::exited, 0);
  world.ended(job, ending("0"));
  commit();
  oracle.at_rest();
  compare();
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, SeesAReportThatNobodyWrote) {
  write(1, 0.5);
  store(point(2));
  expect("report 2 of worker 0 of generation 1 of job 1 is stored, and nobody wrote it");
}

TEST_F(OracleTest, SeesAReportThatIsStoredOtherwiseThanItWasWritten) {
  write(1, 0.5);
  store(point(1, 0.6));
  expect("is stored otherwise than it was written");
}

TEST_F(OracleTest, SeesReportsInAnotherOrder) {
  for (const std::uint64_t report : {1U, 2U}) write(report, 0.5);
  for (const std::uint64_t report : {2U, 1U}) store(point(report));
  EXPECT_THAT(faults, IsEmpty());
  compare();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("report 1 of worker 0 of generation 1 of job 1 comes "
                                            "too late")));
}

// A memory store keeps none twice: it is looked at twice for one comparison.
TEST_F(OracleTest, SeesAReportThatIsStoredTwice) {
  write(1, 0.5);
  store(point(1));
  for (int i = 0; i < 2; ++i) compare();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("report 1 of worker 0 of generation 1 of job 1 is "
                                            "there twice")));
}

TEST_F(OracleTest, IsContentWithPointsThatWereThinned) {
  for (std::uint64_t report = 1; report <= kThinnedPoints + 2; ++report) {
    write(report, 0.5);
    store(point(report));
  }
  dies(Cause::exited, 0);
  world.ended(job, ending("0"));
  commit();
  forget();
  ASSERT_TRUE(disk.thin(job).value());
  EXPECT_LT(disk.points(job, "", 1, 2'000)->points.size(), kThinnedPoints + 2);
  oracle.compare(disk, world.job(job));
  oracle.compare_done();
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, SeesThatMoreIsThinnedThanMayBe) {
  for (const std::uint64_t report : {1U, 2U}) {
    write(report, 0.5);
    oracle.stored(point(report));
  }
  ASSERT_TRUE(disk.append({{}, {}, {point(1)}, {}}));
  forget();
  ASSERT_TRUE(disk.thin(job).value());
  compare();
  expect("report 2 of worker 0 of generation 1 of job 1 was stored and is not there");
}

TEST_F(OracleTest, SeesAReportThatTheStoreLost) {
  write(1, 0.5);
  oracle.stored(point(1));
  compare();
  expect("was stored and is not there");
}

TEST_F(OracleTest, SeesWhatIsMissingOnceAWorkerWasHeardOut) {
  write(1, 0.5);
  CheckpointSeen seen;
  seen.key = key();
  oracle.saved(seen);
  ModelSeen model;
  model.key = key();
  oracle.published(model);
  dies(Cause::exited, 0);
  world.ended(job, ending("0"));
  commit();
  oracle.at_rest();
  EXPECT_THAT(faults,
              ElementsAre(HasSubstr("saved a checkpoint at step 0, and it is not in the journal"),
                          HasSubstr("saved a model at step 0, and it is not in the journal"),
                          HasSubstr("was written and is not stored")));
}

TEST_F(OracleTest, MissesNothingThatIsGoneWithItsMachine) {
  write(1, 0.5);
  dies(Cause::exited, 0);
  oracle.unread(key());
  world.ended(job, ending("0"));
  commit();
  oracle.at_rest();
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, LetsAsManyReportsBeMissingAsTheServerPassedOver) {
  oracle.passes_over();
  oracle.passed_over({key(), 1, 1});
  for (const std::uint64_t report : {1U, 2U, 3U}) write(report, 0.5);
  store(point(3));
  dies(Cause::exited, 0);
  world.ended(job, ending("0"));
  commit();
  oracle.at_rest();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("report 2 of worker 0")));
}

TEST_F(OracleTest, SeesThatMoreWasPassedOverThanIsMissing) {
  oracle.passes_over();
  for (const std::uint64_t report : {1U, 2U}) write(report, 0.5);
  store(point(2));
  oracle.passed_over({key(), 2, 2});
  oracle.at_rest();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("2 of worker 0")));
}

TEST_F(OracleTest, SeesThatTheStoreTellsOfFewerThanWerePassedOver) {
  oracle.passes_over();
  for (const std::uint64_t report : {1U, 2U}) write(report, 0.5);
  store(point(2));
  oracle.passed_over({key(), 1, 1});
  compare();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("1 points were passed over, and 0 are told")));
}

TEST_F(OracleTest, SeesACheckpointThatNobodySaved) {
  world.checkpoint(job);
  commit();
  expect("a checkpoint of job 1 is in the journal, and nobody saved it");
}

// ---- targets ----

TEST_F(OracleTest, IsContentWithATierThatAReportMet) {
  write(1, 0.95);
  report(0.95);
  commit();
  store(point(1, 0.95));
  compare();
  EXPECT_THAT(faults, IsEmpty());
}

TEST_F(OracleTest, SeesATierThatIsMarkedThoughNoReportMetIt) {
  write(1, 0.85);
  report(0.95);
  commit();
  expect("job 1 has reached its target, and no report says so");
  expect("job 1 is delivered, and no report says so");
}

TEST_F(OracleTest, SeesATierThatIsMetAndNotMarked) {
  write(1, 0.95);
  store(point(1, 0.95));
  compare();
  expect("meets the target, and nothing marks it");
  expect("is good enough to deliver, and nothing marks it");
}

}  // namespace
}  // namespace paceline::faults
