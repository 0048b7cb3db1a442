#include "clock/manual/manual_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace paceline {
namespace {

TEST(ManualClock, StandsStillUntilItIsMoved) {
  ManualClock clock(time_from_us(10));
  EXPECT_EQ(clock.now(), time_from_us(10));
  EXPECT_EQ(clock.now(), time_from_us(10));
  clock.advance(Duration{5});
  EXPECT_EQ(clock.now(), time_from_us(15));
  clock.set(time_from_us(100));
  EXPECT_EQ(clock.now(), time_from_us(100));
}

TEST(ManualClockDeathTest, NeverGoesBack) {
  ManualClock clock(time_from_us(10));
  EXPECT_DEATH(clock.set(time_from_us(9)), "never goes back");
}

}  // namespace
}  // namespace paceline
