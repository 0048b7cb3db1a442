#include "scheduler/drain_outlook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::IsEmpty;
using testing::span;
using testing::World;

class DrainOutlookTest : public ::testing::Test {
 protected:
  [[nodiscard]] DrainOutlook look(std::string_view node, const DrainOrder& order = {},
                                  const Departures& departures = {}) const {
    const NodeId id = world.state().find_node(node)->id;
    return look_at({&id, 1}, order, departures);
  }
  [[nodiscard]] DrainOutlook look_at(std::span<const NodeId> nodes, const DrainOrder& order,
                                     const Departures& departures = {}) const {
    const PackPlacer placer;
    const Decider nothing = [](const Snapshot&, Draft&) -> Result<void> { return {}; };
    return outlook_of_drain(world.snapshot(), nodes, order, {nothing, placer, Protects::yes},
                            departures);
  }
  // Where its first worker is.
  [[nodiscard]] const std::string& node_of(JobId job) const {
    return world.state().find_node(world.job(job).current->workers[0].seat.node)->spec.name;
  }

  World world{"2x4 cpu"};
};

TEST_F(DrainOutlookTest, OfAnEmptyNodeCostsNothing) {
  const auto outlook = look("cpu-0");
  EXPECT_EQ(outlook.slots, 4);
  EXPECT_FALSE(outlook.is_last);
  EXPECT_THAT(outlook.jobs, IsEmpty());
  EXPECT_EQ(outlook.lost_slot_seconds(), 0);
  EXPECT_FALSE(world.state().find_node("cpu-0")->drain) << "nothing changes";
}

TEST_F(DrainOutlookTest, TellsWhichJobsLeaveHow) {
  world.tell(RulesSet{{span("10m")}});
  const JobId shrinks = world.run("2..6", 6);
  world.checkpoint(shrinks);
  const JobId stays = world.run("1 elastic=no", 1);
  world.advance(span("10s"));
  const auto outlook = look("cpu-0", {.within = span("30m")});
  ASSERT_EQ(outlook.jobs.size(), 1U);
  EXPECT_EQ(outlook.jobs[0].job, shrinks);
  EXPECT_EQ(outlook.jobs[0].how, Leaving::at_once);
  EXPECT_EQ(outlook.jobs[0].from, 6);
  EXPECT_EQ(outlook.jobs[0].to, 3) << "beside the other job";
  EXPECT_NEAR(outlook.jobs[0].lost_slot_seconds, 6 * (10 + 5) + 1 * 5, 1)
      << "what is unsaved, a pause, and that of a slot that it has besides";
  const auto other = look("cpu-1", {.within = span("30m")});
  ASSERT_EQ(other.jobs.size(), 2U);
  EXPECT_EQ(other.jobs[1].job, stays);
  EXPECT_EQ(other.jobs[1].how, Leaving::stopped);
  EXPECT_TRUE(other.jobs[1].anew);
  EXPECT_EQ(other.jobs[1].at, world.now() + span("30m"));
  EXPECT_NEAR(other.jobs[1].lost_slot_seconds, 10 + 30 * 60, 1);
}

TEST_F(DrainOutlookTest, OneThatMovesHasBothPlacesForAWhile) {
  world.tell(RulesSet{{span("10m")}});
  const JobId job = world.run("2", 2);
  world.checkpoint(job);
  const auto outlook = look(node_of(job));
  ASSERT_EQ(outlook.jobs.size(), 1U);
  EXPECT_EQ(outlook.jobs[0].how, Leaving::at_once);
  EXPECT_EQ(outlook.jobs[0].to, 2);
  EXPECT_NEAR(outlook.lost_slot_seconds(), (2 + 2) * 5, 1)
      << "a pause of its old slots and the new";
}

// As it did the last time.
TEST_F(DrainOutlookTest, OneThatSavesWhenItIsToldToLosesTheNoticeAlone) {
  const JobId job = world.run("2 elastic=no", 2);
  const JobId other = world.submit("8");
  world.checkpoint(job);
  world.advance(span("1m"));
  world.preempt(job, other, 8);
  world.advance(span("3s"));
  world.checkpoint(job);
  Departures departures;
  for (const std::int32_t rank : {0, 1}) {
    const Event event =
        WorkerEnded{world.job(job).current->process(job, rank), testing::ending("0")};
    departures.follow(world.state(), event, world.now());
    world.tell(event);
  }
  world.started(other);
  world.ended(other);
  world.start(job, 2);
  world.started(job);
  world.advance(span("10m"));
  EXPECT_NEAR(look(node_of(job), {.within = span("1s")}).lost_slot_seconds(), 2 * 600, 5);
  EXPECT_NEAR(look(node_of(job), {.within = span("1s")}, departures).lost_slot_seconds(), 2 * 3,
              0.1);
}

TEST_F(DrainOutlookTest, WaitsForTheNextSave) {
  world.tell(RulesSet{{span("10m")}});
  const JobId job = world.run("2", 2);
  world.checkpoint(job);
  world.advance(span("20m"));
  const auto outlook = look("cpu-0");
  ASSERT_EQ(outlook.jobs.size(), 1U);
  EXPECT_EQ(outlook.jobs[0].how, Leaving::saving);
  EXPECT_EQ(outlook.jobs[0].at, world.now() + span("10m"));
  EXPECT_NEAR(outlook.lost_slot_seconds(), 2 * 5, 1);
}

TEST_F(DrainOutlookTest, AJobWithAWorkerThatIsNotHeardStaysUntilTheEnd) {
  world.tell(RulesSet{{span("10m")}});
  const JobId job = world.run("2..8", 8);
  world.checkpoint(job);
  world.advance(span("20m"));
  world.node_down("cpu-1");
  const auto outlook = look("cpu-0", {.within = span("1h")});
  ASSERT_EQ(outlook.jobs.size(), 1U);
  EXPECT_EQ(outlook.jobs[0].how, Leaving::stopped);
  EXPECT_EQ(outlook.jobs[0].at, world.now() + span("1h"));
}

TEST_F(DrainOutlookTest, OfOneThatIsAnnouncedCountsFromItsBeginning) {
  world.tell(RulesSet{{span("10m")}});
  const JobId saves = world.run("2", 2);
  world.checkpoint(saves);
  world.run("1 elastic=no", 1);
  world.advance(span("20m"));
  const Time begins = world.now() + span("1h");
  const auto outlook =
      look("cpu-0", {.from = WallTime{begins.time_since_epoch()}, .within = span("15m")});
  EXPECT_EQ(outlook.begins, begins);
  ASSERT_EQ(outlook.jobs.size(), 2U);
  EXPECT_EQ(outlook.jobs[0].how, Leaving::saving);
  EXPECT_EQ(outlook.jobs[0].at, begins + span("10m"));
  EXPECT_EQ(outlook.jobs[1].how, Leaving::stopped);
  EXPECT_EQ(outlook.jobs[1].at, begins + span("15m"));
  EXPECT_NEAR(outlook.jobs[1].lost_slot_seconds, (20 + 60 + 15) * 60, 1);
}

TEST_F(DrainOutlookTest, WithoutAnEndAJobThatCannotLeaveCostsNothing) {
  world.run("8 elastic=no", 8);
  const auto outlook = look("cpu-0");
  ASSERT_EQ(outlook.jobs.size(), 1U);
  EXPECT_EQ(outlook.jobs[0].how, Leaving::by_itself);
  EXPECT_EQ(outlook.lost_slot_seconds(), 0);
}

TEST_F(DrainOutlookTest, OfTheLastNodeThatStartsJobsSaysSo) {
  EXPECT_FALSE(look("cpu-0").is_last);
  world.tell(NodeDrained{world.state().find_node("cpu-1")->id, {}, account(0)});
  EXPECT_TRUE(look("cpu-0").is_last);
}

TEST_F(DrainOutlookTest, OfSeveralNodesHasNoneOfThemTakeTheJobsOfAnother) {
  world.tell(RulesSet{{span("10m")}});
  const JobId over_both = world.run("2..6", 6);
  world.checkpoint(over_both);
  const JobId stays = world.run("1 elastic=no", 1);
  EXPECT_EQ(look("cpu-0", {.within = span("30m")}).jobs.front().how, Leaving::at_once);
  const std::vector<NodeId> both = {NodeId{0}, NodeId{1}};
  const auto outlook = look_at(both, {.within = span("30m")});
  EXPECT_EQ(outlook.slots, 8);
  EXPECT_TRUE(outlook.is_last);
  ASSERT_EQ(outlook.jobs.size(), 2U) << "each is told of once";
  EXPECT_EQ(outlook.jobs[0].job, over_both);
  EXPECT_EQ(outlook.jobs[1].job, stays);
  for (const Leaver& leaver : outlook.jobs) EXPECT_EQ(leaver.how, Leaving::stopped);
}

}  // namespace
}  // namespace paceline
