#include "sim/truth/pace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace paceline::sim {
namespace {

TEST(Pace, AtOneSpeedIsADivision) {
  const Pace pace(2);
  EXPECT_EQ(pace.us_for(100, 40), 30);
  EXPECT_EQ(pace.left_after(100, 30), 40);
  EXPECT_EQ(pace.left_after(100, 1000), 0);
}

// From 100: twenty at 2, forty at 0.5, the last forty at 4.
TEST(Pace, GoesFromStageToStage) {
  const Pace pace(
      {{.until = 80, .speed = 2}, {.until = 40, .speed = 0.5}, {.until = 0, .speed = 4}});
  EXPECT_EQ(pace.us_for(100, 0), 10 + 80 + 10);
  EXPECT_EQ(pace.us_for(100, 60), 10 + 40);
  EXPECT_EQ(pace.us_for(70, 20), 60 + 5);
  EXPECT_EQ(pace.us_for(40, 40), 0);
  EXPECT_EQ(pace.left_after(100, 0), 100);
  EXPECT_EQ(pace.left_after(100, 10), 80);
  EXPECT_EQ(pace.left_after(100, 50), 60);
  EXPECT_EQ(pace.left_after(60, 45), 20);
  EXPECT_EQ(pace.left_after(60, 1000), 0);
}

RC_GTEST_PROP(Pace, IsTheSameInOneGoAndInTwo, ()) {
  const double first = *rc::gen::inRange(1, 100), second = *rc::gen::inRange(1, 100);
  const Pace pace({{.until = 70, .speed = first / 10}, {.until = -5, .speed = second / 10}});
  const double us = *rc::gen::inRange(0, 200), more = *rc::gen::inRange(0, 200);
  const double left = pace.left_after(100, us);
  RC_ASSERT(std::abs(pace.left_after(left, more) - pace.left_after(100, us + more)) < 1e-9);
  if (left > 0) RC_ASSERT(std::abs(pace.us_for(100, left) - us) < 1e-9);
}

}  // namespace
}  // namespace paceline::sim
