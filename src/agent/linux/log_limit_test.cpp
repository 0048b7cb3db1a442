#include "agent/linux/log_limit.hpp"

#include <gtest/gtest.h>

#include "agent/linux/log_testing.hpp"
#include "files/log_times_writer.hpp"

namespace paceline::agent {
namespace {

class LogLimitTest : public LogFilesTest {
 protected:
  // Bytes before the first that is there.
  std::uint64_t hole(const LogKey& log) {
    const Hole hole = first_hole(log);
    return hole.begin == 0 ? hole.end : 0;
  }

  LogKey first_{JobId{7}, 0}, second_{JobId{3}, 0}, third_{JobId{3}, 1};
};

TEST_F(LogLimitTest, TheOldestBytesOfTheLogWrittenLongestAgoGoFirst) {
  write(first_, 2 * kMiB, 1);
  write(second_, 2 * kMiB, 2);
  write(third_, 2 * kMiB, 3);
  LogLimit limit(directory_.path(), 3 * kMiB);
  limit.hold({}, {});
  EXPECT_EQ(room(first_), 0U);
  EXPECT_EQ(hole(second_), kMiB);
  EXPECT_EQ(room(third_), 2 * kMiB);
  EXPECT_EQ(look(first_).st_size, static_cast<off_t>(2 * kMiB));
  EXPECT_EQ(look(second_).st_size, static_cast<off_t>(2 * kMiB));
}

TEST_F(LogLimitTest, TheTimesOfALogCountAndGoWithItsLastByte) {
  write(first_, kMiB, 1);
  write(second_, kMiB, 2);
  ASSERT_TRUE(replace_file(AT_FDCWD, times_path(path_of(first_)).c_str(), "0123456789abcdef"));
  LogLimit(directory_.path(), 2 * kMiB).hold({}, {});
  EXPECT_EQ(room(first_), kMiB - 4096);
  EXPECT_EQ(::access(times_path(path_of(first_)).c_str(), F_OK), 0);
  LogLimit(directory_.path(), kMiB).hold({}, {});
  EXPECT_EQ(room(first_), 0U);
  EXPECT_EQ(room(second_), kMiB);
  EXPECT_NE(::access(times_path(path_of(first_)).c_str(), F_OK), 0);
}

TEST_F(LogLimitTest, NothingIsTouchedWithinTheLimitOrWithoutOne) {
  write(first_, 2 * kMiB, 1);
  for (const std::uint64_t most : {2 * kMiB, std::uint64_t{0}}) {
    LogLimit(directory_.path(), most).hold({}, {});
    EXPECT_EQ(room(first_), 2 * kMiB);
  }
}

TEST_F(LogLimitTest, LogsInUseGiveLastAndOnlyWhatWasStored) {
  write(first_, 2 * kMiB, 1);
  write(second_, 2 * kMiB, 2);
  LogLimit limit(directory_.path(), kMiB);
  limit.hold({{first_, kMiB / 2 + 1}}, {});
  EXPECT_EQ(room(second_), 0U);
  EXPECT_EQ(hole(first_), kMiB / 2);
  limit.hold({{first_, 2 * kMiB}}, {});
  EXPECT_EQ(hole(first_), kMiB);
  limit.hold({}, {});
  EXPECT_EQ(room(first_), kMiB);
}

TEST_F(LogLimitTest, ALogThatGrowsGivesAgainAndAgain) {
  LogLimit limit(directory_.path(), kMiB);
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    write(first_, kMiB, static_cast<int>(turn));
    limit.hold({{first_, turn * kMiB}}, {});
    EXPECT_EQ(hole(first_), (turn - 1) * kMiB);
  }
}

TEST_F(LogLimitTest, ALogThatWasBegunAndEndedBetweenTwoLooksCounts) {
  LogLimit limit(directory_.path(), kMiB);
  limit.hold({}, {});
  write(first_, 2 * kMiB, 1);
  limit.hold({}, {first_});
  EXPECT_EQ(room(first_), kMiB);
}

TEST_F(LogLimitTest, AUserPaysForHisOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files to others";
  write(first_, 2 * kMiB, 1);
  write(second_, 2 * kMiB, 2);
  ASSERT_EQ(::chown(path_of(second_).c_str(), 12345, 12345), 0);
  LogLimit limit(directory_.path(), 2 * kMiB);
  limit.hold({}, {});
  write(second_, kMiB, 3);
  limit.hold({{second_, 3 * kMiB}}, {});
  EXPECT_EQ(room(first_), 2 * kMiB);
  EXPECT_EQ(room(second_), 2 * kMiB);
}

TEST_F(LogLimitTest, WhatIsNoLogStays) {
  write(first_, 2 * kMiB, 1);
  const std::string other = directory_ / "logs/7/notes";
  ASSERT_EQ(::rename(path_of(first_).c_str(), other.c_str()), 0);
  ASSERT_EQ(::symlink(other.c_str(), path_of(first_).c_str()), 0);
  LogLimit limit(directory_.path(), kMiB);
  limit.hold({}, {});
  EXPECT_EQ(contents(other).find('\0'), std::string::npos);
}

}  // namespace
}  // namespace paceline::agent
