#include "agent/linux/clock_jumps.hpp"

#include <gtest/gtest.h>

namespace paceline::agent {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class ClockJumpsTest : public ::testing::Test {
 protected:
  void pass(Duration time, Duration jump = {}) {
    since_boot_ += time;
    wall_ += time + jump;
    jumps_.look(since_boot_, wall_);
  }
  std::optional<std::string> problem() { return jumps_.problem(); }

 private:
  ClockJumps jumps_;
  Duration since_boot_ = minutes{3};
  WallTime wall_ = wall_from_us(1'763'636'112'000'000);
};

TEST_F(ClockJumpsTest, SomebodyWhoSetsItIsNoProblem) {
  pass(seconds{5});
  pass(seconds{5}, std::chrono::hours{48});
  pass(seconds{5}, -std::chrono::hours{48});
  EXPECT_FALSE(problem());
}

TEST_F(ClockJumpsTest, ThreeJumpsWithinMinutesAre) {
  pass(seconds{5});
  pass(seconds{5}, minutes{1});
  pass(minutes{2}, -minutes{1});
  pass(minutes{2}, seconds{90});
  EXPECT_EQ(problem(), "Its clock jumped 3 times within ten minutes, the last time by 90 s.");
  pass(minutes{9});
  EXPECT_FALSE(problem()) << "the first two are long past";
}

TEST_F(ClockJumpsTest, AClockThatIsCorrectedDoesNotJump) {
  for (int i = 0; i < 20; ++i) pass(seconds{5}, seconds{4});
  EXPECT_FALSE(problem());
}

}  // namespace
}  // namespace paceline::agent
