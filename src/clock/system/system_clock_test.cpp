#include "clock/system/system_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace paceline {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

// A machine whose clock is set by hand.
struct Machine {
  WallTime wall = wall_from_us(1'700'000'000'000'000);
  Duration steady = seconds{5};
  std::string boot_id = "first";

  void pass(Duration span) {
    wall += span;
    steady += span;
  }
  void restart(Duration away) {
    wall += away;
    steady = seconds{1};
    boot_id += "'";
  }
  SystemClock clock() {
    return SystemClock({[this] { return wall; }, [this] { return steady; }, boot_id});
  }
};

TEST(SystemClock, BeginsAsTheWallClock) {
  Machine machine;
  auto clock = machine.clock();
  EXPECT_EQ(to_us(clock.now()), to_us(machine.wall));
  machine.pass(seconds{7});
  EXPECT_EQ(to_us(clock.now()), to_us(machine.wall));
  EXPECT_EQ(clock.wall(), machine.wall);
}

TEST(SystemClock, SettingTheWallClockMovesNothing) {
  Machine machine;
  auto clock = machine.clock();
  const Time before = clock.now();
  for (const Duration step : {Duration{hours{30}}, Duration{-hours{100}}}) {
    machine.wall += step;
    EXPECT_EQ(clock.now(), before);
    EXPECT_EQ(clock.wall(), machine.wall);
  }
  machine.pass(seconds{9});
  EXPECT_EQ(clock.now(), before + seconds{9});
}

TEST(SystemClock, KnowsHowLongNobodyReadItInOneBoot) {
  for (const Duration step : {Duration{}, Duration{hours{30}}, Duration{-hours{100}}}) {
    Machine machine;
    auto first = machine.clock();
    machine.pass(seconds{10});
    const Time last = first.now();
    machine.pass(seconds{60});
    machine.wall += step;
    auto second = machine.clock();
    second.resume(last, *first.boot());
    EXPECT_EQ(second.now(), last + seconds{60});
    EXPECT_EQ(second.now(), first.now());
  }
}

TEST(SystemClock, StandsStillOverABoot) {
  for (const Duration away : {Duration{hours{8}}, Duration{-hours{8}}}) {
    Machine machine;
    auto first = machine.clock();
    const Time last = first.now();
    machine.restart(away);
    auto second = machine.clock();
    second.resume(last, *first.boot());
    EXPECT_EQ(second.now(), last + Duration{1});
    machine.pass(seconds{3});
    EXPECT_EQ(second.now(), last + Duration{1} + seconds{3});
  }
}

TEST(SystemClock, GoesOnWhereAJournalWithoutBootsEnds) {
  Machine machine;
  auto clock = machine.clock();
  const Time last = clock.now() + hours{5};  // its clock was wrong
  clock.resume(last, {});
  EXPECT_EQ(clock.now(), last + Duration{1});
}

TEST(SystemClock, DoesNotGoBackThoughABootIsSaidToBeTheSame) {
  Machine machine;
  auto clock = machine.clock();
  const Boot boot = *clock.boot();
  machine.pass(hours{2});
  const Time last = clock.now();
  machine.steady = seconds{1};
  auto moved = machine.clock();
  moved.resume(last, boot);
  EXPECT_EQ(moved.now(), last + Duration{1});
}

TEST(SystemClock, OfThisMachineGoesForward) {
  SystemClock clock;
  const Time first = clock.now();
  EXPECT_GT(first, time_from_us(1'700'000'000'000'000));  // 2023
  EXPECT_GE(clock.now(), first);
  EXPECT_FALSE(clock.boot()->id.empty());
}

}  // namespace
}  // namespace paceline
