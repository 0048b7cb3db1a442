// The law that protects running jobs, with its arithmetic.
#include "plan/protection.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

constexpr ChangeKind kStop = ChangeKind::stop, kResize = ChangeKind::resize;

class Protection : public ::testing::Test {
 protected:
  std::optional<Time> from(JobId job, ChangeKind kind, Owed owed = Owed::no) {
    return may_change_from(world.snapshot(), world.job(job), kind, limits, owed);
  }
  bool may(JobId job, ChangeKind kind, Owed owed = Owed::no) {
    const auto at = from(job, kind, owed);
    return at && *at <= world.now();
  }
  // Of 4 slots; ran for an hour, saved, was stopped, started again 30 s after its new start was
  // decided.
  JobId stopped_once(std::string_view more = "") {
    const JobId job = world.run("1..4@4 elastic=restart " + std::string(more), 4);
    world.advance(span("1h"));
    world.checkpoint(job);
    const JobId other = world.submit("4..4");
    world.preempt(job, other, 4);
    world.killed(job);
    world.started(other);
    world.ended(other);
    world.start(job, 4);
    world.advance(span("30s"));
    world.started(job);
    return job;
  }

  LossLimits limits;  // 3 %, 10 %
  World world{"1x16 cpu"};
};

TEST_F(Protection, LeavesEveryJobAloneForTenSeconds) {
  const JobId job = world.run("1..8 elastic=restart", 2);
  const Time started = world.now();
  for (const Owed owed : {Owed::no, Owed::yes}) {
    EXPECT_EQ(from(job, kResize, owed), started + LossLimits{}.min_run);
    EXPECT_EQ(from(job, kStop, owed), started + LossLimits{}.min_run);
  }
  world.advance(LossLimits{}.min_run);
  EXPECT_TRUE(may(job, kResize));
  EXPECT_TRUE(may(job, kStop))
      << "it says that it can go on, and was never disturbed: that costs nothing";
}

TEST_F(Protection, TakesTheJobsWordForHowLongItIsLeftAlone) {
  const JobId job = world.run("1..8 elastic=restart min_run=5m", 2);
  EXPECT_EQ(from(job, kStop, Owed::yes), world.now() + span("5m"));
  const JobId none = world.run("1..8 elastic=restart min_run=0s", 2);
  EXPECT_TRUE(may(none, kStop));
}

TEST_F(Protection, APauseIsPaidByRunningSinceTheLastOne) {
  const JobId job = stopped_once();
  const Time back = world.now();
  // 30 s of 3 % and of 10 %. Of the 4 × 3630 slot-seconds that it held it lost 4 × 30 by then: 3 %
  // are paid for that and more.
  EXPECT_EQ(from(job, kStop), back + span("1000s"));
  EXPECT_EQ(from(job, kResize), back + span("300s"));
  world.advance(span("999s"));
  EXPECT_FALSE(may(job, kStop));
  EXPECT_EQ(from(job, kStop), back + span("1000s")) << "the instant stays as it was told";
  world.advance(span("1s"));
  EXPECT_TRUE(may(job, kStop));
}

TEST_F(Protection, WhatWasLostIsPaidByAllThatTheJobHeld) {
  const JobId job = world.run("4..4 elastic=restart", 4);
  world.advance(span("1000s"));
  const JobId other = world.submit("4..4");
  world.preempt(job, other, 4);  // 4 × 1000 slot-seconds are lost: it never saved
  world.killed(job);
  world.started(other);
  world.ended(other);
  world.start(job, 4);
  world.started(job);
  const Bill lost = world.job(job).bill;
  EXPECT_DOUBLE_EQ(lost.preemption, 4000);
  // (1000 + t) × 3 % = 1000: t = 32,333 s.
  ASSERT_TRUE(from(job, kStop).has_value());
  EXPECT_NEAR(to_seconds(*from(job, kStop) - world.now()), 1000 / 0.03 - 1000, 1e-3);
  EXPECT_TRUE(may(job, kStop, Owed::yes) ||
              from(job, kStop, Owed::yes) == world.now() + LossLimits{}.min_run);
}

TEST_F(Protection, AJobThatWouldBeginAnewIsLeftAloneUntilItSaves) {
  const JobId job = world.run("4", 4);
  world.advance(span("30h"));
  EXPECT_EQ(from(job, kStop), std::nullopt);
  EXPECT_TRUE(may(job, ChangeKind::pause)) << "a frozen job loses nothing";
  EXPECT_TRUE(may(job, kStop, Owed::yes));
  world.checkpoint(job);
  EXPECT_TRUE(may(job, kStop));
}

TEST_F(Protection, HasLimitsOfTheJobsOwn) {
  const JobId never = world.run("1..4@4 elastic=restart stop_loss=0% resize_loss=100%", 4);
  world.advance(span("1h"));
  EXPECT_TRUE(may(never, kStop)) << "what costs nothing is within any limit";
  world.change_size(never, 2);
  world.advance(span("30s"));
  world.killed(never);
  world.started(never);
  world.advance(LossLimits{}.min_run);
  EXPECT_EQ(from(never, kStop), std::nullopt);
  EXPECT_TRUE(may(never, kResize)) << "no limit";
}

TEST_F(Protection, HoldsThePolicysLimits) {
  const JobId job = stopped_once();
  limits = {0.3, 0.01};
  EXPECT_EQ(from(job, kStop), world.now() + span("100s"));
  EXPECT_EQ(from(job, kResize), world.now() + span("3000s"));
  limits = {1, 1};
  EXPECT_EQ(from(job, kStop), world.now() + LossLimits{}.min_run);
}

RC_GTEST_PROP(ProtectionOfAnyJob, TellsAnInstantThatHoldsAndNoneBeforeIt, ()) {
  World world("1x16 cpu");
  const JobId job = world.run("1..4@4 elastic=restart", 4);
  const auto seconds = [](int most) { return std::chrono::seconds{*rc::gen::inRange(1, most)}; };
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    world.advance(seconds(5000));
    if (*rc::gen::arbitrary<bool>()) world.checkpoint(job);
    world.change_size(job, world.job(job).current->size() == 4 ? 2 : 4);
    world.advance(seconds(100));
    world.killed(job);
    world.started(job);
  }
  world.advance(seconds(5000));
  const LossLimits limits{*rc::gen::inRange(0, 101) / 100.0, *rc::gen::inRange(0, 101) / 100.0};
  for (const ChangeKind kind : {kStop, kResize}) {
    const auto ask = [&] {
      return may_change_from(world.snapshot(), world.job(job), kind, limits, Owed::no);
    };
    const auto told = ask();
    if (!told || *told <= world.now()) continue;
    const Time before = world.now() + (*told - world.now()) / 2;
    world.advance(before - world.now());
    RC_ASSERT(*ask() > world.now());
    world.advance(*told - world.now() + std::chrono::milliseconds{1});
    RC_ASSERT(*ask() <= world.now());
  }
}

}  // namespace
}  // namespace paceline
