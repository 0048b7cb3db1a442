// Every rule of tempering with its arithmetic. Gain and cost are slot-seconds.
#include "scheduler/temper.hpp"

#include <gtest/gtest.h>

#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::span;
using testing::World;

class Temper : public ::testing::Test {
 protected:
  static Part to(JobId job, std::int32_t workers, ChangeKind kind = ChangeKind::resize) {
    return {kind, job, workers};
  }
  Verdict judge(const std::vector<Part>& parts, Owed owed = Owed::no) {
    return make_temper(options).trade(world.snapshot(), parts, owed);
  }
  // A job of 2 workers that has run for `span` since it last saved its work.
  JobId running_for(std::string_view unsaved, std::string_view literal = "1..8@8 elastic=restart") {
    const JobId job = world.run(literal, 2);
    world.advance(span("1h"));
    world.checkpoint(job);
    world.advance(testing::span(unsaved));
    return job;
  }

  // 10 s minimum run, 10 pauses or 40, 20 s window, horizons of 10 min
  TemperOptions options{.wait_horizon = std::chrono::minutes{10}};
  World world{"1x16 cpu"};
};

TEST_F(Temper, KeepsAGrowthThatGainsMoreThanItCosts) {
  const JobId job = running_for("100s");
  // Gain: 2 more slots × 600 s = 1200. Cost: 2 slots × 100 s unsaved + 5 s prior pause × 2 slots =
  // 210.
  EXPECT_DOUBLE_EQ(resize_cost(world.job(job), world.now()), 210);
  EXPECT_TRUE(judge({to(job, 4)}).kept);
}

TEST_F(Temper, DropsAGrowthThatCostsMoreAndSaysBoth) {
  const JobId job = running_for("600s");
  // Gain: 1 more slot × 600 s = 600. Cost: 2 × 600 + 5 × 2 = 1210.
  const Verdict verdict = judge({to(job, 3)});
  EXPECT_FALSE(verdict.kept);
  EXPECT_EQ(verdict.reason, (Reason{ReasonCode::too_costly, {600, 1210}, {}}));
  EXPECT_EQ(verdict.again, std::nullopt);
}

TEST_F(Temper, DropsAChangeThatGainsNoMoreThanItCosts) {
  const JobId job = running_for("0s");
  options.horizon = span("5s");
  // Gain: 2 × 5 s = 10. Cost: 0 unsaved + 5 × 2 = 10.
  EXPECT_FALSE(judge({to(job, 4)}).kept);
}

TEST_F(Temper, CountsNoLongerThanTheJobWillRun) {
  const JobId job = world.run("1..8@2 elastic=restart expect=1h", 2);
  world.advance(span("3590s"));
  world.checkpoint(job);
  // Gain: 6 more slots, which count for 4.2 beyond the wanted size, × 10 s left = 42. Cost: 5 × 2 =
  // 10. With the horizon it would be 2533.
  EXPECT_EQ(remaining(world.job(job), world.now()), span("10s"));
  EXPECT_TRUE(judge({to(job, 8)}).kept);
  world.advance(span("9s"));
  // Gain: 4.2 × 1. Cost: 2 × 9 + 10 = 28.
  EXPECT_EQ(judge({to(job, 8)}).reason, (Reason{ReasonCode::too_costly, {4, 28}, {}}));
}

TEST_F(Temper, WeighsATradeAsAWhole) {
  const JobId giver = running_for("0s");
  const JobId taker = running_for("0s");
  // Gain: −1 × 600 + 1 × 600 = 0.
  EXPECT_FALSE(judge({to(giver, 1), to(taker, 3)}).kept);
  // Gain: −1 × 600 + 4 × 600 = 1800. Cost: the giver's hour unsaved by now × 2 = 7200, + 10 + 10.
  EXPECT_EQ(judge({to(giver, 1), to(taker, 6)}).reason.numbers[0], 1800);
  world.checkpoint(giver);
  EXPECT_TRUE(judge({to(giver, 1), to(taker, 6)}).kept);
}

TEST_F(Temper, CountsWhatSlotsAddToTheSpeed) {
  const JobId giver = world.run("1..16@1 elastic=restart expect=10h", 16);
  world.advance(span("100s"));
  world.checkpoint(giver);
  const JobId starts = world.submit("1");
  // Gain: 1 × 600 s, less what the sixteenth worker adds by Amdahl's law with a serial part of
  // 0.05, (9.143 − 8.824) × 600 = 192. Cost: 5 × 16.
  const std::vector<Part> trade{to(giver, 15), to(starts, 1, ChangeKind::start)};
  EXPECT_TRUE(judge(trade).kept);
  world.advance(span("30s"));
  // Cost: 30 s of 16 slots besides.
  EXPECT_EQ(judge(trade).reason, (Reason{ReasonCode::too_costly, {408, 560}, {}}));
}

TEST_F(Temper, ShrinksALongJobForAShortOne) {
  const JobId giver = world.run("1..2@2 elastic=restart expect=500s", 2);
  world.advance(span("100s"));
  world.checkpoint(giver);
  const auto shrink = [&](std::string_view starts) {
    return judge({to(giver, 1), to(world.submit(starts), 1, ChangeKind::start)});
  };
  // Gain: 1 × the 400 s that it would wait, less 1 × 100. Cost: 5 s prior pause × 2.
  EXPECT_TRUE(shrink("1 expect=100s").kept);
  // Gain: 1 × 400 − 1 × 395.
  EXPECT_EQ(shrink("1 expect=395s").reason, (Reason{ReasonCode::too_costly, {5, 10}, {}}));
}

TEST_F(Temper, StopsALongJobForAShortOne) {
  const JobId victim = world.run("2 expect=500s", 2);
  world.advance(span("100s"));
  world.checkpoint(victim);
  const JobId quick = world.submit("2 expect=100s");
  const JobId slow = world.submit("2 expect=390s");
  const auto swap = [&](JobId starts) {
    return judge({to(victim, 0, ChangeKind::stop), to(starts, 2, ChangeKind::start)});
  };
  // Gain: 2 × the 400 s that the victim has left, less 2 × 100. Cost: 5 s prior pause × 2.
  EXPECT_TRUE(swap(quick).kept);
  // Gain: 2 × 400 − 2 × 390 = 20. Cost: 10.
  EXPECT_TRUE(swap(slow).kept);
  world.advance(span("10s"));
  // Gain: 2 × 390 − 2 × 390 = 0. Cost: 10, and 2 × 10 s unsaved.
  EXPECT_EQ(swap(slow).reason, (Reason{ReasonCode::too_costly, {0, 30}, {}}));
}

TEST_F(Temper, WeighsWaitsBeyondTheHorizonOfGrowth) {
  options.wait_horizon = span("24h");
  const JobId victim = world.run("2 expect=20h", 2);
  world.advance(span("1h"));
  world.checkpoint(victim);
  const auto swap = [&](std::string_view starts) {
    return judge({to(victim, 0, ChangeKind::stop), to(world.submit(starts), 2, ChangeKind::start)});
  };
  EXPECT_TRUE(swap("2 expect=15h").kept) << "2 × 19 h, less 2 × 15 h";
  EXPECT_FALSE(swap("2 expect=19h").kept) << "2 × 19 h, less 2 × 19 h";
  EXPECT_FALSE(swap("2").kept) << "nobody knows its length: 2 × 10 min, less 2 × 10 min";
  options.wait_horizon = span("10h");
  EXPECT_FALSE(swap("2 expect=15h").kept) << "2 × 10 h, less 2 × 10 h";
}

TEST_F(Temper, WeighsWaitsOfUnknownLengthsLikeGrowth) {
  options.wait_horizon = span("24h");
  const JobId victim = world.run("2", 2);
  const JobId small = world.run("1", 1);
  world.advance(span("1h"));
  world.checkpoint(victim);
  const auto stop = [&](JobId job, std::int32_t workers, std::string_view starts) {
    return judge(
        {to(job, 0, ChangeKind::stop), to(world.submit(starts), workers, ChangeKind::start)});
  };
  EXPECT_FALSE(stop(victim, 2, "2 expect=1h").kept) << "2 × 10 min, less 2 × 10 min";
  EXPECT_TRUE(stop(victim, 2, "2 expect=1m").kept) << "2 × 10 min, less 2 × 1 min";
  world.checkpoint(small);
  world.advance(span("2h"));  // Gain: 3 × 10 min, less 10 min. Cost: 2 h of one slot, and 5 s.
  EXPECT_EQ(stop(small, 3, "3").reason, (Reason{ReasonCode::too_costly, {1200, 7205}, {}}));
}

TEST_F(Temper, ForgetsNoMoreThanTheHorizonOfGrowthGivesBack) {
  options.wait_horizon = span("24h");
  const JobId victim = world.run("2 expect=20h", 2);
  world.advance(span("9m"));
  const auto swap = [&] {
    return judge(
        {to(victim, 0, ChangeKind::stop), to(world.submit("2 expect=1h"), 2, ChangeKind::start)});
  };
  EXPECT_TRUE(swap().kept) << "2 × 9 min would be done again";
  world.advance(span("1m"));
  const Verdict dropped = swap();
  EXPECT_EQ(dropped.reason, (Reason{ReasonCode::too_costly, {1200, 1200}, {}}));
  EXPECT_TRUE(dropped.for_work);
  world.checkpoint(victim);
  EXPECT_TRUE(swap().kept);
  world.advance(span("1h"));
  EXPECT_TRUE(swap().kept) << "who saved before saves again";
}

TEST_F(Temper, CountsNoLongerWhatAJobGivesThanItRuns) {
  options.wait_horizon = span("24h");
  const JobId giver = world.run("1..16@1 elastic=restart expect=10h", 16);
  world.advance(span("100s"));
  world.checkpoint(giver);
  const double left = to_seconds(*remaining(world.job(giver), world.now()));
  EXPECT_NEAR(left, 3763, 1);
  // Gain: 1 × what it would wait, less what the sixteenth worker adds, 0.319, until the giver is
  // done, though who starts takes twelve hours. Cost: 5 × 16.
  const JobId starts = world.submit("1 expect=12h");
  EXPECT_TRUE(judge({to(giver, 15), to(starts, 1, ChangeKind::start)}).kept);
}

TEST_F(Temper, CountsNothingLostWhereAJobIsFrozen) {
  const JobId lender = world.run("1 expect=500s", 1);
  world.advance(span("300s"));
  const JobId quick = world.submit("1 expect=100s");
  const auto swap = [&](ChangeKind kind) {
    return judge({to(lender, 0, kind), to(quick, 1, ChangeKind::start)});
  };
  // Gain: the 200 s that the lender has left, less 100. Cost of a stop: 300 s unsaved and 5 s.
  EXPECT_EQ(swap(ChangeKind::stop).reason, (Reason{ReasonCode::too_costly, {100, 305}, {}}));
  EXPECT_TRUE(swap(ChangeKind::pause).kept);
  world.advance(span("100s"));
  EXPECT_EQ(swap(ChangeKind::pause).reason, (Reason{ReasonCode::too_costly, {0, 0}, {}}));
}

TEST_F(Temper, SaysWhetherACheckpointWouldHelp) {
  const JobId job = running_for("600s");
  // Gain: 1 × 600. Cost: 2 × 600 unsaved + 10.
  EXPECT_TRUE(judge({to(job, 3)}).for_work);
  options.horizon = span("10s");
  // Gain: 1 × 10, which the pause alone costs.
  EXPECT_FALSE(judge({to(job, 3)}).for_work);
}

TEST_F(Temper, KnowsWhichStartsAreWorthNoStop) {
  const auto may = [&](JobId starts, std::int64_t slots, std::int64_t stopped) {
    return make_temper(options).stops(world.snapshot(), world.job(starts), slots, stopped).kept;
  };
  const JobId shorter = world.submit("4 expect=599s");
  const JobId longer = world.submit("4 expect=10m");
  EXPECT_TRUE(may(shorter, 4, 4)) << "4 × 600 s at most, less 4 × 599 s";
  EXPECT_FALSE(may(longer, 4, 4)) << "4 × 600 s at most, less 4 × 600 s";
  EXPECT_TRUE(may(longer, 4, 3)) << "one slot was idle";
  EXPECT_FALSE(may(world.submit("4"), 4, 4)) << "nobody knows its length: the whole horizon";
}

TEST_F(Temper, DropsEveryStopForAStartThatIsWorthNone) {
  const JobId starts = world.submit("2 expect=20m");
  ASSERT_FALSE(make_temper(options).stops(world.snapshot(), world.job(starts), 2, 2).kept);
  for (const char* victim : {"2 expect=500s", "2 expect=2h", "2", "4 expect=2h"}) {
    const JobId runs = world.run(victim, victim[0] - '0');
    world.advance(span("100s"));
    world.checkpoint(runs);
    EXPECT_FALSE(judge({to(runs, 0, ChangeKind::stop), to(starts, 2, ChangeKind::start)}).kept)
        << victim;
  }
}

TEST_F(Temper, KeepsAJobsOwnMinimumRun) {
  const JobId job = world.run("2 min_run=1m expect=500s", 2);
  world.advance(span("59s"));
  EXPECT_FALSE(judge({to(job, 0, ChangeKind::stop)}, Owed::yes).kept);
  world.advance(span("1s"));
  EXPECT_TRUE(judge({to(job, 0, ChangeKind::stop)}, Owed::yes).kept);
}

TEST_F(Temper, SkipsTheComparisonForWhatIsOwed) {
  const JobId giver = running_for("1h");
  const JobId starts = world.submit("1..1");
  EXPECT_FALSE(judge({to(giver, 1), to(starts, 1, ChangeKind::start)}).kept);
  EXPECT_TRUE(judge({to(giver, 1), to(starts, 1, ChangeKind::start)}, Owed::yes).kept);
}

TEST_F(Temper, HoldsTheMinimumRunEvenAgainstWhatIsOwed) {
  const JobId job = world.run("1..8 elastic=restart", 2);
  const Time started = world.now();
  world.advance(span("9s"));
  const Verdict verdict = judge({to(job, 1)}, Owed::yes);
  EXPECT_EQ(verdict.reason.code, ReasonCode::waits_for_window);
  EXPECT_EQ(verdict.reason.numbers[0], 1);
  EXPECT_EQ(verdict.again, started + span("10s"));
  EXPECT_FALSE(judge({to(job, 0, ChangeKind::stop)}, Owed::yes).kept);
  world.advance(span("1s"));
  EXPECT_TRUE(judge({to(job, 1)}, Owed::yes).kept);
}

TEST_F(Temper, LetsWhoWasInterruptedRunForManyOfItsPauses) {
  const JobId victim = world.run("4..4", 4);
  const JobId taker = world.submit("4..4");
  world.preempt(victim, taker, 4);
  world.killed(victim);
  world.started(taker);
  world.ended(taker);
  world.start(victim, 4);
  world.advance(span("30s"));  // until it is back
  world.started(victim);
  const Time back = world.now();
  EXPECT_EQ(judge({to(victim, 2)}, Owed::yes).again, back + span("300s"));
  EXPECT_EQ(judge({to(victim, 0, ChangeKind::stop)}, Owed::yes).again, back + span("1200s"));
  world.advance(span("1200s"));
  EXPECT_TRUE(judge({to(victim, 0, ChangeKind::stop)}, Owed::yes).kept);
}

TEST_F(Temper, HoldsOneResizeAWindow) {
  const JobId job = running_for("0s");
  world.change_size(job, 3);
  const Time resized = world.now();
  world.killed(job);
  world.started(job);
  world.advance(span("19s"));
  EXPECT_EQ(judge({to(job, 4)}, Owed::yes).again, resized + span("20s"));
  world.advance(span("1s"));
  EXPECT_TRUE(judge({to(job, 4)}, Owed::yes).kept);
}

TEST_F(Temper, LetsAStartBeAtAnyTime) {
  const JobId job = world.submit("1..1");
  EXPECT_TRUE(judge({to(job, 1, ChangeKind::start)}).kept);
}

TEST_F(Temper, TakesThePauseMeasuredAtEarlierResizes) {
  const JobId job = running_for("0s");
  world.change_size(job, 4);
  world.advance(span("30s"));  // 4 slots wait 30 s: 120
  world.killed(job);
  world.started(job);
  EXPECT_DOUBLE_EQ(resize_cost(world.job(job), world.now()), 120);
}

TEST(Remaining, ComesFromProgressElseFromTheOwnerElseIsUnknown) {
  World world("1x16 cpu");
  const JobId a = world.run("1..1 samples=1000 expect=1h", 1);
  world.advance(span("60s"));
  EXPECT_EQ(remaining(world.job(a), world.now()), span("59m"));
  Progress report;
  report.samples = 250;
  world.report(a, report);
  EXPECT_EQ(remaining(world.job(a), world.now()), span("180s"));  // a quarter took 60 s
  const JobId b = world.run("1..1", 1);
  EXPECT_EQ(remaining(world.job(b), world.now()), std::nullopt);
  const JobId c = world.run("1..1 expect=10s", 1);
  world.advance(span("1h"));
  EXPECT_EQ(remaining(world.job(c), world.now()), Duration::zero());
}

TEST(WorkAtRisk, IsCountedFromTheLastCheckpointOfThisGangOrItsStart) {
  World world("1x16 cpu");
  const JobId a = world.run("1..8 elastic=restart", 4);
  world.advance(span("10s"));
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 40);
  world.checkpoint(a);
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 0);
  world.advance(span("5s"));
  world.change_size(a, 2);
  world.killed(a);
  world.started(a);
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 0);  // what was lost before is lost
  world.advance(span("3s"));
  EXPECT_DOUBLE_EQ(work_at_risk(world.job(a), world.now()), 6);
}

}  // namespace
}  // namespace paceline
