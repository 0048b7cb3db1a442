#include "policy/reservation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using testing::span;
using testing::World;

class ReservationTest : public ::testing::Test {
 protected:
  std::optional<Reservation> reserved(JobId job, std::int32_t workers) {
    Draft draft(world.snapshot(), placer);
    return reserve(draft, world.job(job), workers);
  }
  static std::vector<std::string> slots(const std::optional<Reservation>& made) {
    std::vector<std::string> texts;
    for (const SlotId slot : made->slots)
      texts.push_back(std::to_string(slot.node.value) + ":" + std::to_string(slot.index));
    return texts;
  }
  World world{"2x2 cpu"};
  PackPlacer placer;
};

TEST_F(ReservationTest, IsWhereItsLastJobEndsFirst) {
  world.run("1 expect=5h", 1);  // both on node 0
  world.run("1 expect=1h", 1);
  world.run("1 expect=2h", 1);  // both on node 1
  world.run("1 expect=3h", 1);
  const JobId pair = world.submit("1 slots_per_worker=2");
  const auto made = reserved(pair, 1);
  EXPECT_THAT(slots(made), ElementsAre("1:0", "1:1"));
  EXPECT_EQ(made->due, world.now() + span("3h"));
}

TEST_F(ReservationTest, TakesATimeLimitForAnEndAndUnknownLengthsForTheLatest) {
  world.run("1", 1);
  world.run("1 expect=1h", 1);
  world.run("1 max_duration=20h", 1);
  world.run("1 expect=3h", 1);
  const JobId pair = world.submit("1 slots_per_worker=2");
  const auto made = reserved(pair, 1);
  EXPECT_THAT(slots(made), ElementsAre("1:0", "1:1"));
  EXPECT_EQ(made->due, world.now() + span("20h"));
}

TEST_F(ReservationTest, OfUnknownLengthsLeavesTheJobThatRunsForLongestInPeace) {
  world.run("1", 1);
  world.run("1", 1);
  world.advance(span("3h"));
  world.run("1", 1);
  world.run("1", 1);
  const JobId pair = world.submit("1 slots_per_worker=2");
  const auto made = reserved(pair, 1);
  EXPECT_THAT(slots(made), ElementsAre("1:0", "1:1"));
  EXPECT_EQ(made->due, Time{}) << "nobody knows";
}

TEST_F(ReservationTest, IsNoneWhereTheJobWillNotFit) {
  world.run("1", 1);
  const JobId wide = world.submit("4");
  EXPECT_TRUE(reserved(wide, 4).has_value());
  world.node_down("cpu-1");
  EXPECT_FALSE(reserved(wide, 4).has_value());
}

TEST_F(ReservationTest, OfAnExclusiveJobIsOfWholeNodes) {
  world.run("1 expect=1h", 1);
  const JobId alone = world.submit("1 exclusive");
  world.run("1 expect=2h", 1);
  world.run("1 expect=1h", 1);
  EXPECT_EQ(reserved(alone, 1)->slots.size(), 2U);
}

TEST_F(ReservationTest, BreaksWithItsSlots) {
  const JobId wide = world.submit("4");
  const auto made = reserved(wide, 4);
  EXPECT_TRUE(holds(world.state(), *made));
  world.node_down("cpu-0");
  EXPECT_FALSE(holds(world.state(), *made));
}

TEST_F(ReservationTest, IsRememberedAsAText) {
  const Reservation made{JobId{7},         3,
                         time_from_us(12), 2,
                         time_from_us(99), {{NodeId{0}, 1}, {NodeId{0}, 2}, {NodeId{4}, 0}}};
  EXPECT_EQ(Reservation::parse(made.text()), made);
  for (const char* text :
       {"", "7", "7 3 12 2", "7 3 12 2 99 0;1,", "x 3 12 2 99 0:1,", "7 3 12 2 99 0:,"})
    EXPECT_FALSE(Reservation::parse(text).has_value()) << text;
}

}  // namespace
}  // namespace paceline
