#include "scheduler/thinning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::World;

class ThinningTest : public ::testing::Test {
 protected:
  std::vector<MetricPoint> points(std::uint64_t count, double accuracy = 0) {
    std::vector<MetricPoint> made;
    while (count-- > 0) {
      MetricPoint point{job, Generation{1}, 0, ++reports, {}, {}, {}, {}};
      point.values["accuracy"] = accuracy;
      made.push_back(point);
    }
    return made;
  }
  std::vector<std::uint64_t> take(std::vector<MetricPoint> some, std::vector<Event> events = {}) {
    std::vector<std::uint64_t> numbers;
    const auto taken = thinning.take(std::move(some), events, world.state(), now);
    for (const auto& point : taken.kept) numbers.push_back(point.report);
    for (const PassedOver& more : taken.passed_over) {
      passed_over += more.points;
      newest = std::max(newest, more.newest);
    }
    return numbers;
  }

  World world{"1x4 cpu"};
  JobId job = world.run("1..1 target=accuracy>=0.9", 1);
  Thinning thinning{10, 25};
  Time now = time_from_us(1'000'000'000);
  std::uint64_t reports = 0;
  std::int64_t passed_over = 0;
  std::uint64_t newest = 0;  // of them
};

TEST_F(ThinningTest, WhatIsHeldCountsAsPassedOverUntilItIsKept) {
  take(points(1000));
  take(points(50));
  EXPECT_EQ(passed_over, 1039);
  EXPECT_EQ(newest, 1050U);
  now += std::chrono::seconds{1};
  EXPECT_THAT(take({}), SizeIs(1)) << "the newest one, held until there is room";
  EXPECT_EQ(passed_over, 1038);
}

TEST_F(ThinningTest, TellsWhatItPassedOverByProcess) {
  auto some = points(100);
  for (std::size_t i = 0; i < 40; ++i) some[i].number = 1;
  std::map<std::int32_t, std::int64_t> by_number;
  for (const PassedOver& more : thinning.take(some, {}, world.state(), now).passed_over)
    by_number[more.process.number] += more.points;
  EXPECT_EQ(by_number.size(), 2U);
  EXPECT_EQ(by_number[0] + by_number[1], 89);
  EXPECT_NEAR(static_cast<double>(by_number[1]), 36, 1);
}

TEST_F(ThinningTest, KeepsAllOfAJobThatReportsNoMoreThanItsShare) {
  for (int second = 0; second < 20; ++second) {
    EXPECT_THAT(take(points(10)), SizeIs(10));
    now += std::chrono::seconds{1};
  }
  EXPECT_EQ(passed_over, 0);
}

TEST_F(ThinningTest, KeepsTheFirstTheLastAndAnEvenChoiceOfABurst) {
  const auto kept = take(points(1000));
  EXPECT_THAT(kept, ElementsAre(1, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000));
  EXPECT_EQ(passed_over, 989);
}

TEST_F(ThinningTest, KeepsNoMoreThanItsShareHoweverItComes) {
  std::size_t kept = 0;
  for (int step = 0; step < 10'000; ++step) {
    kept += take(points(3)).size();
    now += std::chrono::milliseconds{1};
  }
  EXPECT_LE(kept, 10U * 11U + 1U);
  EXPECT_GE(kept, 10U * 10U);
}

TEST_F(ThinningTest, KeepsWhatIsFirstToMeetTheTarget) {
  take(points(1000));
  auto more = points(50);
  more[20].values["accuracy"] = more[30].values["accuracy"] = 0.95;
  const auto met = more[20].report;
  EXPECT_THAT(take(more), ElementsAre(met));
}

TEST_F(ThinningTest, KeepsTheNewestOnceThereIsRoomAgain) {
  take(points(1000));
  EXPECT_THAT(take(points(50)), IsEmpty());
  EXPECT_THAT(take({}), IsEmpty());
  now += std::chrono::seconds{1};
  EXPECT_THAT(take({}), ElementsAre(1050));
  EXPECT_THAT(take({}), IsEmpty());
}

TEST_F(ThinningTest, KeepsTheNewestOfAWorkerThatEnds) {
  take(points(1000));
  const WorkerEnded end{{job, Generation{1}, 0}, {}};
  EXPECT_THAT(take(points(50), {end}), ElementsAre(1050));
}

TEST_F(ThinningTest, StandsAClockThatGoesBack) {
  take(points(1000));
  now -= std::chrono::hours{1};
  EXPECT_THAT(take(points(5)), IsEmpty());
  now += std::chrono::seconds{1};
  EXPECT_THAT(take(points(5)), SizeIs(5));
}

TEST_F(ThinningTest, TheJobsOfOneOwnerDivideWhatIsTheirs) {
  std::vector<JobId> jobs{job};
  for (int i = 0; i < 4; ++i) jobs.push_back(world.submit("1..1 uid=2000"));
  std::map<JobId, std::size_t> kept;
  for (int second = 0; second < 100; ++second) {
    std::vector<MetricPoint> all;
    for (const JobId id : jobs) {
      for (MetricPoint point : points(10)) {
        point.job = id;
        all.push_back(point);
      }
    }
    for (const auto& point : thinning.take(std::move(all), {}, world.state(), now).kept)
      ++kept[point.job];
    now += std::chrono::seconds{1};
  }
  EXPECT_EQ(kept[job], 1'000U) << "another user's job does not pay for it";
  for (std::size_t i = 1; i < jobs.size(); ++i)
    EXPECT_NEAR(static_cast<double>(kept[jobs[i]]), 25.0 / 4 * 100, 30);
}

}  // namespace
}  // namespace paceline
