// The oracle notices each untruth that it is for: a job in order is told of wrongly, in one way at a
// time.
#include "sim/oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline::sim {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::World;

class OracleTest : public ::testing::Test {
 protected:
  OracleTest() {
    job = world.run("1 retry=1", 1);
    commit();
  }

  [[nodiscard]] WorkerKey key() const { return {job, world.job(job).last_generation, 0}; }
  void commit() {
    for (const Entry& entry : std::span(world.journal()).subspan(told)) oracle.took(entry);
    told = world.journal().size();
    for (const Job& each : world.state().jobs()) oracle.check(world.now(), world.state(), each);
  }
  void dies(Cause cause, std::optional<std::int32_t> code) {
    oracle.ended({key(), cause, code, 0, "", world.now()}, false);
  }
  void fails() {
    dies(Cause::exited, 1);
    world.ended(job, ending("1"));
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

  std::vector<std::string> faults;
  Oracle oracle{[this](std::string what) { faults.push_back(std::move(what)); }};
  World world{"1x4 box"};
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

TEST_F(OracleTest, SeesACheckpointThatIsConfirmedAndNotKnown) {
  CheckpointSeen seen;
  seen.key = key();
  send(seen);
  confirm();
  EXPECT_THAT(faults, ElementsAre(HasSubstr("a checkpoint of worker 0")));
}

}  // namespace
}  // namespace paceline::sim
