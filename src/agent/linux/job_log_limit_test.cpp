#include "agent/linux/job_log_limit.hpp"

#include <gtest/gtest.h>

#include "agent/linux/log_room.hpp"
#include "agent/linux/log_testing.hpp"
#include "agent/linux/timeline_file.hpp"
#include "files/log_names.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint64_t kBlock = 4096;

class JobLogLimitTest : public LogFilesTest {
 protected:
  static constexpr JobId kJob{7};
  LogKey first_{kJob, 0}, second_{kJob, 1}, third_{kJob, 2};
  JobLogLimit limit_{directory_.path(), kMiB};
};

TEST_F(JobLogLimitTest, TheHeadAndTheTailStay) {
  write(first_, 4 * kMiB);
  limit_.hold({{kJob, {0, {{0, 4 * kMiB}}}}});
  EXPECT_LE(room(first_), kMiB + kBlock);
  EXPECT_GE(room(first_), kMiB - kBlock);
  EXPECT_EQ(look(first_).st_size, static_cast<off_t>(4 * kMiB));
  const Hole hole = first_hole(first_);
  EXPECT_GE(hole.begin, kMiB / 10);
  EXPECT_LE(hole.begin, kMiB / 10 + kBlock);
  EXPECT_GE(hole.end, 3 * kMiB);
  EXPECT_EQ(next_hole(first_, hole.end), 4 * kMiB);
}

TEST_F(JobLogLimitTest, ALogThatGrowsGivesAgainAndAgainBehindOneHead) {
  for (std::uint64_t turn = 1; turn <= 8; ++turn) {
    write(first_, kMiB);
    limit_.hold({{kJob, {0, {{0, turn * kMiB}}}}});
    EXPECT_LE(room(first_), kMiB + kBlock);
  }
  EXPECT_LE(first_hole(first_).begin, kMiB / 10 + kBlock);
  EXPECT_EQ(next_hole(first_, first_hole(first_).end), 8 * kMiB);
}

TEST_F(JobLogLimitTest, ATimelineHasABoundOfItsOwnAndKeepsItsNewest) {
  const LogKey timeline{kJob, timeline_of(0)};
  write(first_, kMiB / 2);
  write(timeline, kTimelineBytes + kMiB);
  write(timeline, 5);
  limit_.hold({{kJob, {0, {{0, kMiB / 2}, {timeline.second, kLogEnd}}}}});
  EXPECT_EQ(room(first_), kMiB / 2) << "a timeline takes no log's room";
  EXPECT_LE(room(timeline), kTimelineBytes + kBlock);
  EXPECT_GE(room(timeline), kTimelineBytes - kBlock);
  EXPECT_EQ(look(timeline).st_size, static_cast<off_t>(kTimelineBytes + kMiB + 5));
  EXPECT_EQ(first_hole(timeline).begin, 0U);
  EXPECT_EQ(log(timeline).back(), 'x');
}

TEST_F(JobLogLimitTest, TheLongestOfAJobGiveFirstDownToOneLength) {
  write(first_, kMiB / 8);
  write(second_, 2 * kMiB);
  write(third_, kMiB);
  limit_.hold({{kJob, {0, {{0, 4 * kMiB}, {1, 4 * kMiB}, {2, 4 * kMiB}}}}});
  EXPECT_EQ(room(first_), kMiB / 8);
  EXPECT_NEAR(static_cast<double>(room(second_)), static_cast<double>(room(third_)), kBlock);
  EXPECT_LE(room(first_) + room(second_) + room(third_), kMiB + 2 * kBlock);
}

TEST_F(JobLogLimitTest, LogsOfRanksThatEndedCount) {
  write(first_, kMiB);
  write(second_, kMiB);
  for (int turn = 0; turn < 3; ++turn) {
    limit_.hold({{kJob, {0, {{1, kMiB}}}}});
    EXPECT_EQ(room(first_) + room(second_), kMiB);
    EXPECT_EQ(room(first_), room(second_));
  }
}

TEST_F(JobLogLimitTest, WhatWasNotReadStaysUntilHalfAsMuchMoreIsThere) {
  write(first_, kMiB + kMiB / 4);
  limit_.hold({{kJob, {0, {{0, kMiB / 4}}}}});
  EXPECT_LE(first_hole(first_).end, kMiB / 4);
  EXPECT_EQ(log(first_).find("---"), std::string::npos);
  write(first_, kMiB / 2);
  limit_.hold({{kJob, {0, {{0, kMiB / 4}}}}});
  EXPECT_LE(room(first_), kMiB + 2 * kBlock);
  EXPECT_NE(log(first_).find("\n--- bytes 262144 to "), std::string::npos);
  EXPECT_TRUE(
      log(first_).ends_with(" of this log were removed before what they report was "
                            "stored: the job's logs take more room than they may ---\n"));
}

TEST_F(JobLogLimitTest, TheLimitOfTheJobHoldsWhereItIsSmaller) {
  write(first_, 4 * kMiB);
  limit_.hold({{kJob, {kMiB / 2, {{0, 4 * kMiB}}}}});
  EXPECT_LE(room(first_), kMiB / 2 + kBlock);
  write(first_, 4 * kMiB);
  limit_.hold({{kJob, {8 * kMiB, {{0, 8 * kMiB}}}}});
  EXPECT_LE(room(first_), kMiB + kBlock);
  EXPECT_GE(room(first_), kMiB - kBlock);
}

TEST_F(JobLogLimitTest, AJobIsLookedAtOnceMoreWhenItIsOver) {
  write(first_, kMiB);
  limit_.hold({{kJob, {0, {{0, 0}}}}});
  write(first_, kMiB);
  limit_.hold({});
  EXPECT_LE(room(first_), kMiB + kBlock);
  write(first_, kMiB);
  limit_.hold({});
  EXPECT_GE(room(first_), 2 * kMiB - kBlock);
}

TEST_F(JobLogLimitTest, JobsThatDoNotRunKeepWhatTheyHave) {
  const LogKey other{JobId{8}, 0};
  write(other, 4 * kMiB);
  limit_.hold({{kJob, {0, {{0, 0}}}}});
  EXPECT_EQ(room(other), 4 * kMiB);
  JobLogLimit none(directory_.path(), 0);
  none.hold({{JobId{8}, {0, {{0, 4 * kMiB}}}}});
  EXPECT_EQ(room(other), 4 * kMiB);
}

}  // namespace
}  // namespace paceline::agent
