#include "scheduler/failing_nodes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::span;
using testing::World;

class FailingNodesTest : public ::testing::Test {
 protected:
  // A job of that user on the first node with room, which ends so after some time.
  void runs(const std::string& user, std::string_view how, std::string_view after = "5s") {
    const JobId job = world.run("1 user=" + user, 1);
    world.advance(span(after));
    const Event event = WorkerEnded{world.job(job).current->process(job, 0), testing::ending(how)};
    failing.follow(world.state(), event, world.now());
    world.tell(event);
  }
  std::vector<NodeDrained> due() { return failing.due(world.state()); }

  World world{"2x4 cpu"};
  FailingNodes failing{3};
};

TEST_F(FailingNodesTest, JobsOfSeveralUsersInARowSetItAside) {
  runs("ann", "1");
  runs("bob", "signal 11");
  runs("bob", "1");
  EXPECT_FALSE(failing.any_due(world.state())) << "two users";
  EXPECT_THAT(due(), IsEmpty());
  runs("eve", "1");
  EXPECT_TRUE(failing.any_due(world.state()));
  const auto found = due();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found[0].order.keeps);
  EXPECT_THAT(found[0].order.reason, HasSubstr("jobs of 3 users failed here"));
  EXPECT_THAT(due(), IsEmpty()) << "once";
  world.tell(found[0]);
  EXPECT_FALSE(world.state().find_node(found[0].node)->offers(0));
}

TEST_F(FailingNodesTest, AJobThatEndsWellClearsIt) {
  for (const char* user : {"ann", "bob"}) runs(user, "1");
  runs("eve", "0");
  runs("eve", "1");
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(FailingNodesTest, AJobThatRunsForLongClearsIt) {
  for (const char* user : {"ann", "bob"}) runs(user, "1");
  runs("eve", "1", "2m");
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(FailingNodesTest, WhatTheMachineOrPeopleEndDoesNotCount) {
  runs("ann", "1");
  runs("bob", "node_lost");
  runs("eve", "75");
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(FailingNodesTest, TheLastNodeThatStartsJobsIsNone) {
  world.node_down("cpu-1");
  for (const char* user : {"ann", "bob", "eve"}) runs(user, "1");
  EXPECT_THAT(due(), IsEmpty());
  world.node_up("cpu-1");
  EXPECT_THAT(due(), SizeIs(1));
}

}  // namespace
}  // namespace paceline
