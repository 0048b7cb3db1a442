#include "slurm/pilot.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Pilot, IsReadFromAList) {
  const auto pilots = read_pilots(
      "8123|PENDING|Priority||1795624710|8:00:00|paceline-ab12-17\n"
      "8124|RUNNING|None|n1|1795624711|1-00:00:05|paceline-ab12-18\n"
      "8125|CANCELLED by 40001|None|n2|1795624712|INVALID|paceline-ab12-19\n",
      "ab12");
  ASSERT_TRUE(pilots);
  const WallTime asked{seconds{1795624710}};
  EXPECT_THAT(*pilots, ElementsAre(Pilot{.job = 8123,
                                         .invitation = 17,
                                         .slurm_state = "PENDING",
                                         .reason = "Priority",
                                         .asked_at = asked,
                                         .time_left = hours{8}},
                                   Pilot{.job = 8124,
                                         .invitation = 18,
                                         .state = PilotState::running,
                                         .slurm_state = "RUNNING",
                                         .host = "n1",
                                         .asked_at = asked + seconds{1},
                                         .time_left = hours{24} + seconds{5}},
                                   Pilot{.job = 8125,
                                         .invitation = 19,
                                         .state = PilotState::over,
                                         .slurm_state = "CANCELLED by 40001",
                                         .host = "n2",
                                         .asked_at = asked + seconds{2}}));
}

TEST(Pilot, OtherJobsArePassedOver) {
  const auto pilots = read_pilots(
      "1|RUNNING|None|n1|1|1:00|train|x|paceline-ab12-3\n"
      "2|RUNNING|None|n1|1|1:00|paceline-cd34-17\n"
      "3|RUNNING|None|n1|1|1:00|paceline-ab12-seven\n"
      "\n|||\n",
      "ab12");
  ASSERT_TRUE(pilots);
  EXPECT_THAT(*pilots, IsEmpty());
}

TEST(Pilot, APilotsLineThatCannotBeReadIsAnError) {
  EXPECT_EQ(read_pilots("x|RUNNING|None|n1|1|1:00|paceline-ab12-3\n", "ab12").error().code,
            ErrorCode::data);
}

TEST(Pilot, WhileSlurmCleansUpItIsNotOver) {
  const auto pilots = read_pilots("1|COMPLETING|None|n1|1|0:00|paceline-ab12-3\n", "ab12");
  ASSERT_TRUE(pilots);
  EXPECT_EQ(pilots->front().state, PilotState::ending);
}

TEST(Pilot, SpansAreReadAsSlurmWritesThem) {
  EXPECT_EQ(read_slurm_span("5:00"), minutes{5});
  EXPECT_EQ(read_slurm_span("1:02:03"), hours{1} + minutes{2} + seconds{3});
  EXPECT_EQ(read_slurm_span("2-03:04:05"), hours{51} + minutes{4} + seconds{5});
  for (const auto* none : {"UNLIMITED", "INVALID", "", "5", "-", "1-", "1:2:3:4", "99999999999:00"})
    EXPECT_EQ(read_slurm_span(none), std::nullopt) << none;
}

TEST(Pilot, ANodesNameHoldsTheJob) {
  EXPECT_EQ(pilot_node("n1", 8123), "n1-8123");
  EXPECT_EQ(pilot_node(std::string(80, 'n'), 8123).size(), 63U);
  EXPECT_EQ(pilot_name("ab12", 17), "paceline-ab12-17");
}

}  // namespace
}  // namespace paceline
