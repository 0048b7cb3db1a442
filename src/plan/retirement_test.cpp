#include "plan/retirement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/assemble.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

constexpr NodeId kCpu{0}, kGpu{1};

class RetirementTest : public ::testing::Test {
 protected:
  const Node& node(NodeId id) { return *world_.state().find_node(id); }
  bool may(NodeId id) { return !may_retire(world_.state(), std::vector{id}).empty(); }

  World world_{"1x4 cpu rack=a; 1x2 a100 rack=b"};
};

TEST_F(RetirementTest, ANodeCountsForNothingAfterwards) {
  world_.node_down("a100-0");
  EXPECT_EQ(node(kGpu).absent_since, world_.now());
  EXPECT_EQ(world_.state().slots_ever(), 6);
  world_.node_retired("a100-0");
  const State& state = world_.state();
  EXPECT_TRUE(node(kGpu).retired);
  EXPECT_EQ(node(kGpu).spec.name, "a100-0") << "who asks where a job ran is told";
  EXPECT_THAT(node(kGpu).spec.slots, IsEmpty());
  EXPECT_EQ(state.slots_ever(), 4);
  EXPECT_EQ(state.workers_ever(1), 4);
  EXPECT_EQ(state.free_slots().total(), 4U);
  EXPECT_THAT(state.topology().models(), ElementsAre("cpu"));
  EXPECT_EQ(state.topology().racks().size(), 1U);
}

TEST_F(RetirementTest, ThatItsMachineIsOffStaysKnown) {
  world_.node_down("a100-0");
  world_.tell(NodeOff{kGpu, "root"});
  world_.node_retired("a100-0");
  EXPECT_TRUE(node(kGpu).retired);
  EXPECT_EQ(node(kGpu).off_by, "root");
}

TEST_F(RetirementTest, TheLargestNodeIsOneThatStays) {
  World world("1x2 cpu; 1x8 a100");
  world.node_down("a100-0");
  EXPECT_EQ(world.state().largest_node_ever(), 8);
  world.node_retired("a100-0");
  EXPECT_EQ(world.state().largest_node_ever(), 2);
  EXPECT_EQ(world.state().workers_ever(4), 0);
}

TEST_F(RetirementTest, OneThatComesBackJoinsAnewUnderItsNumber) {
  const NodeSpec before = node(kGpu).spec;
  world_.node_down("a100-0");
  world_.node_retired("a100-0");
  NodeSpec smaller = before;
  smaller.slots.pop_back();
  world_.tell(NodeUp{kGpu, smaller});
  EXPECT_TRUE(node(kGpu).up);
  EXPECT_FALSE(node(kGpu).retired);
  EXPECT_EQ(node(kGpu).slots.size(), 1U);
  EXPECT_EQ(world_.state().slots_ever(), 5);
  EXPECT_EQ(world_.state().free_slots().total(), 5U);
  EXPECT_EQ(world_.state().topology().racks().size(), 2U);
}

TEST_F(RetirementTest, OneThatIsUpStays) {
  EXPECT_FALSE(may(kGpu));
  world_.node_down("a100-0");
  EXPECT_TRUE(may(kGpu));
  world_.node_up("a100-0");
  world_.node_retired("a100-0");
  EXPECT_TRUE(node(kGpu).up);
  EXPECT_EQ(world_.state().slots_ever(), 6);
}

TEST_F(RetirementTest, IsNoneWhileAWorkerMayStillRunThere) {
  const JobId job = world_.run("2..2 devices=a100", 2);
  world_.node_down("a100-0");
  world_.advance(span("100h"));
  EXPECT_FALSE(may(kGpu));
  world_.node_retired("a100-0");
  EXPECT_FALSE(node(kGpu).retired);
  EXPECT_EQ(world_.job(job).leased, 2);
  world_.node_lost("a100-0");
  EXPECT_TRUE(may(kGpu));
}

TEST_F(RetirementTest, IsNoneWhileTheRestOfAGangLives) {
  World world("2x1 cpu");
  const JobId job = world.run("2..2", 2);
  world.node_lost("cpu-1");
  EXPECT_FALSE(world.state().slot({NodeId{1}, 0}).lease);
  EXPECT_THAT(may_retire(world.state(), std::vector{NodeId{1}}), IsEmpty());
  world.killed(job);
  EXPECT_THAT(may_retire(world.state(), std::vector{NodeId{0}, NodeId{1}}), ElementsAre(NodeId{1}));
}

TEST_F(RetirementTest, IsNoneWhileAJobIsFrozenThere) {
  World world("1x2 cpu memory=16");
  const JobId giver = world.run("1 slots_per_worker=2 memory=4", 1);
  const JobId other = world.submit("2..2");
  world.lend(giver, other, 2);
  world.started(other);
  world.ended(other);
  world.node_down("cpu-0");
  EXPECT_TRUE(world.state().slot({NodeId{0}, 0}).lent);
  EXPECT_THAT(may_retire(world.state(), std::vector{NodeId{0}}), IsEmpty());
}

TEST_F(RetirementTest, OfARestartIsTheSame) {
  world_.run("3..3 devices=cpu", 3);
  world_.node_down("a100-0");
  world_.node_retired("a100-0");
  const auto again = assemble(StateParts(world_.state().parts()));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_THAT(testing::differences(world_.state(), *again), IsEmpty());
}

}  // namespace
}  // namespace paceline
