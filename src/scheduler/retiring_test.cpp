#include "scheduler/retiring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::span;
using testing::World;

class RetiringTest : public ::testing::Test {
 protected:
  void SetUp() override { retiring_.begin(world_.state(), world_.now(), world_.now()); }

  void follow() { retiring_.follow(world_.state(), world_.journal().back()); }
  void down(std::string_view name) {
    world_.node_down(name);
    follow();
  }
  std::vector<NodeId> due() { return retiring_.due(world_.state(), world_.now()); }

  World world_{"3x2 cpu"};
  Retiring retiring_{span("1h")};
};

TEST_F(RetiringTest, IsOfThoseThatWereAbsentForSoLong) {
  EXPECT_EQ(retiring_.next(), std::nullopt);
  down("cpu-2");
  down("cpu-0");
  EXPECT_EQ(retiring_.next(), world_.now() + span("1h"));
  world_.advance(span("59m"));
  EXPECT_THAT(due(), IsEmpty());
  down("cpu-1");
  world_.advance(span("1m"));
  EXPECT_THAT(due(), ElementsAre(NodeId{0}, NodeId{2}));
}

TEST_F(RetiringTest, IsNotOfOneThatCameBack) {
  down("cpu-0");
  world_.advance(span("30m"));
  world_.node_up("cpu-0");
  follow();
  EXPECT_EQ(retiring_.next(), std::nullopt);
  down("cpu-0");
  world_.advance(span("59m"));
  EXPECT_THAT(due(), IsEmpty()) << "it counts anew";
}

TEST_F(RetiringTest, IsAtOnceOfOneThatLeftForGood) {
  const auto leave = [&](std::string_view name) {
    retiring_.left(*world_.state().find_node(name), world_.now());
  };
  leave("cpu-0");
  EXPECT_THAT(due(), IsEmpty()) << "it is there still";
  down("cpu-0");
  EXPECT_THAT(due(), ElementsAre(NodeId{0}));
  down("cpu-1");
  EXPECT_THAT(due(), IsEmpty());
  leave("cpu-1");
  world_.advance(span("1m"));
  EXPECT_THAT(due(), ElementsAre(NodeId{0}, NodeId{1}));
}

TEST_F(RetiringTest, IsNotAtOnceOfOneThatJoinedAnew) {
  const Node& node = *world_.state().find_node("cpu-0");
  retiring_.left(node, world_.now());
  world_.node_up("cpu-0");
  follow();
  retiring_.joined(node, world_.now());
  down("cpu-0");
  EXPECT_EQ(retiring_.next(), world_.now() + span("1h"));
}

TEST_F(RetiringTest, IsOverOnceItIsInTheJournal) {
  down("cpu-0");
  world_.advance(span("1h"));
  EXPECT_THAT(due(), ElementsAre(NodeId{0}));
  world_.advance(span("1m"));
  EXPECT_THAT(due(), ElementsAre(NodeId{0})) << "it was not kept";
  world_.node_retired("cpu-0");
  follow();
  EXPECT_EQ(retiring_.next(), std::nullopt);
}

TEST_F(RetiringTest, LooksAgainAtOneThatHoldsSomething) {
  const JobId job = world_.run("6..6", 6);
  down("cpu-1");
  world_.advance(span("2h"));
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(retiring_.next(), world_.now() + span("1m"));
  world_.node_lost("cpu-1");
  world_.killed(job);
  EXPECT_THAT(due(), IsEmpty()) << "not all the time";
  world_.advance(span("1m"));
  EXPECT_THAT(due(), ElementsAre(NodeId{1}));
}

TEST_F(RetiringTest, AServerThatBeginsHearsFirstWhoIsThere) {
  down("cpu-0");
  world_.advance(span("100h"));
  Retiring again(span("1h"));
  again.begin(world_.state(), world_.now(), world_.now() + span("5s"));
  EXPECT_THAT(again.due(world_.state(), world_.now()), IsEmpty());
  EXPECT_EQ(again.next(), world_.now() + span("5s"));
  world_.advance(span("5s"));
  EXPECT_THAT(again.due(world_.state(), world_.now()), ElementsAre(NodeId{0}));
}

TEST_F(RetiringTest, CountsFromTheStartWhereNobodyKnowsSinceWhen) {
  down("cpu-0");
  StateParts parts = world_.state().parts();
  parts.nodes[0].absent_since.reset();
  const State before(std::move(parts));
  world_.advance(span("100h"));
  Retiring again(span("1h"));
  again.begin(before, world_.now(), world_.now());
  EXPECT_EQ(again.next(), world_.now() + span("1h"));
}

}  // namespace
}  // namespace paceline
