#include "messages/server_log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::ending;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class ServerLogTest : public ::testing::Test {
 protected:
  // What happened since it was asked last.
  std::vector<std::string> lines(LogLevel least = LogLevel::info) {
    const auto& journal = world.journal();
    for (; read_ < journal.size(); ++read_) {
      std::vector<JobId> jobs;
      for (const Job& job : world.state().jobs()) jobs.push_back(job.id);
      log.take({&journal[read_], 1}, jobs, world.now());
    }
    log.step(world.now());
    std::vector<std::string> found;
    for (auto& [level, line] : std::exchange(said_, {}))
      if (level >= least) found.push_back(line);
    return found;
  }
  JobId run(std::string_view literal) {
    const JobId job = world.submit(literal);
    world.round();
    world.started(job);
    return job;
  }

  World world{"1x4 cpu", "fifo"};
  std::vector<std::pair<LogLevel, std::string>> said_;
  ServerLog log{world.state(), [this](LogLevel level, const std::string& line) {
                  said_.emplace_back(level, line);
                }};
  std::size_t read_ = world.journal().size();
};

TEST_F(ServerLogTest, SaysAPolicyAndWhatItWasBefore) {
  world.set_policy("fair", {{"weights", "ada:2"}});
  EXPECT_THAT(lines(), ElementsAre("The policy is fair with weights=ada:2; it was fifo."));
}

TEST_F(ServerLogTest, SaysHowAJobEndedOnceAndNothingPrivateOfIt) {
  const JobId job = run("1");
  world.advance(span("90s"));
  Ending how = ending("1");
  how.message = "/home/ada/secret is missing";
  world.ended(job, how);
  const auto name = world.job(job).spec->name, user = world.job(job).spec->user;
  EXPECT_THAT(lines(), ElementsAre("Job 1 (" + name + ") of " + user +
                                   " FAILED (exit code 1) after 90.0 s of running."));
  world.submit("1");
  EXPECT_THAT(lines(), IsEmpty());
}

// A server that begins hears of ends, and of its own node, before it follows the journal.
TEST_F(ServerLogTest, CatchesUpWithEndsAlone) {
  const JobId job = run("1");
  world.ended(job, 0, ending("0"));
  world.node_down("cpu-0");
  read_ = world.journal().size();
  log.catch_up(world.now());
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("COMPLETED after")));
  log.catch_up(world.now());
  EXPECT_THAT(lines(), IsEmpty());
  world.node_up("cpu-0");
  EXPECT_THAT(lines(), ElementsAre(HasSubstr("Node cpu-0 is there")));
}

TEST_F(ServerLogTest, SaysNodesThatComeGoAndRefuse) {
  const std::string node = world.state().nodes()[0].spec.name;
  world.node_down(node);
  world.node_up(node);
  world.node_refuses(node, {"The disk is full.", world.now() + span("10s")});
  world.node_up(node);
  world.tell(NodeOff{NodeId{0}, "root"});
  const auto said = lines();
  EXPECT_THAT(
      said, ElementsAre(
                "Node " + node + " does not answer: nothing is placed there until it does.",
                "Node " + node + " is there with 4 slots.",
                "Node " + node + " starts nothing for now: The disk is full.",
                "Node " + node + " starts workers again.",
                "Node " + node + " is off, by the word of root: what ran there counts as ended."));
}

TEST_F(ServerLogTest, SumsUpWhatWouldFlood) {
  for (std::size_t i = 0; i < 3 * kJobLinesMax; ++i) {
    const JobId job = run("1");
    world.ended(job, i % 3 == 0 ? ending("1") : ending("0"));
  }
  EXPECT_EQ(lines().size(), kJobLinesMax);
  EXPECT_EQ(log.due(), world.now() + kJobLinesSpan);
  world.advance(kJobLinesSpan);
  const auto sum = lines();
  ASSERT_EQ(sum.size(), 1U);
  EXPECT_THAT(sum[0],
              ::testing::MatchesRegex("More jobs in 10 s: [0-9]+ COMPLETED, [0-9]+ FAILED."));
  EXPECT_EQ(log.due(), std::nullopt);
  world.ended(run("1"));
  EXPECT_EQ(lines().size(), 1U);
}

TEST_F(ServerLogTest, NamesEachAtDebug) {
  for (std::size_t i = 0; i < 2 * kJobLinesMax; ++i) world.ended(run("1"));
  const auto all = lines(LogLevel::debug);
  EXPECT_EQ(std::ranges::count_if(
                all, [](const auto& line) { return line.find("COMPLETED") != std::string::npos; }),
            2 * kJobLinesMax);
}

TEST_F(ServerLogTest, SaysWhoAsksForOthersJobs) {
  world.cancel(run("1"));
  EXPECT_THAT(lines(), IsEmpty());
  world.cancel(run("1 user=bob uid=2000"));
  EXPECT_THAT(lines(), ElementsAre("user 1000 cancels Job 2 (train) of bob."));
}

}  // namespace
}  // namespace paceline
