#include "clock/system/system_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace paceline {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// A machine whose clock is set by hand.
struct Machine {
  Time wall = time_from_us(1'000'000'000'000'000);
  Duration steady = seconds{5};

  void pass(Duration span) {
    wall += span;
    steady += span;
  }
  SystemClock clock(Time not_before = {}) {
    return SystemClock({[this] { return wall; }, [this] { return steady; }}, not_before);
  }
};

TEST(SystemClock, IsTheMachinesTime) {
  Machine machine;
  auto clock = machine.clock();
  EXPECT_EQ(clock.now(), machine.wall);
  machine.pass(seconds{7});
  EXPECT_EQ(clock.now(), machine.wall);
}

TEST(SystemClock, FollowsAClockSetForward) {
  Machine machine;
  auto clock = machine.clock();
  clock.now();
  machine.wall += hours{1};
  EXPECT_EQ(clock.now(), machine.wall);
}

TEST(SystemClock, RunsSlowerUntilAClockSetBackHasCaughtUp) {
  Machine machine;
  auto clock = machine.clock();
  const Time before = clock.now();
  machine.wall -= hours{1};
  EXPECT_EQ(clock.now(), before);
  machine.pass(seconds{100});
  EXPECT_EQ(clock.now(), before + seconds{90});
  machine.pass(hours{10});
  EXPECT_EQ(clock.now(), machine.wall);
}

TEST(SystemClock, StartsNoEarlierThanItIsTold) {
  Machine machine;
  const Time ahead = machine.wall + seconds{10};
  auto clock = machine.clock(ahead);
  EXPECT_EQ(clock.now(), ahead);
  machine.pass(seconds{1});
  EXPECT_EQ(clock.now(), ahead + Duration{900'000});
}

TEST(SystemClock, OfThisMachineGoesForward) {
  SystemClock clock;
  const Time first = clock.now();
  EXPECT_GT(first, time_from_us(1'700'000'000'000'000));  // 2023
  EXPECT_GE(clock.now(), first);
}

}  // namespace
}  // namespace paceline
