#include "agent/linux/log_times.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"
#include "files/log_times.hpp"

namespace paceline::agent {
namespace {

class LogTimesTest : public ::testing::Test {
 protected:
  std::vector<LogTime> noted() {
    const std::string text = contents(path_);
    std::vector<LogTime> times(text.size() / sizeof(LogTime));
    if (!times.empty()) std::memcpy(times.data(), text.data(), times.size() * sizeof(LogTime));
    return times;
  }

  TempDirectory directory_;
  std::string path_ = times_path(directory_ / "rank0.log");
};

TEST_F(LogTimesTest, NotesWhenALogGrew) {
  EXPECT_EQ(path_, directory_ / "rank0.times");
  LogTimes times(path_);
  times.note(wall_from_us(10), 100);
  times.note(wall_from_us(20), 100);
  times.note(wall_from_us(30), 150);
  EXPECT_EQ(noted(), (std::vector<LogTime>{{10, 100}, {30, 150}}));
}

TEST_F(LogTimesTest, GoesOnBehindAnEarlierOneAndOverAHalfOfANote) {
  LogTimes(path_).note(wall_from_us(10), 100);
  ASSERT_EQ(::truncate(path_.c_str(), 25), 0);
  LogTimes times(path_);
  times.note(wall_from_us(20), 100);
  times.note(wall_from_us(30), 150);
  EXPECT_EQ(noted(), (std::vector<LogTime>{{10, 100}, {30, 150}}));
}

TEST_F(LogTimesTest, LeavesOutEveryOtherOneWhereThereAreManyAndKeepsTheNewest) {
  LogTimes times(path_);
  const auto note = [&](std::size_t i) {
    times.note(wall_from_us(static_cast<std::int64_t>(i)), i * 10);
  };
  for (std::size_t i = 1; i <= 3 * kLogTimesMax; ++i) note(i);
  const auto all = noted();
  EXPECT_LE(all.size(), kLogTimesMax);
  EXPECT_GE(all.size(), kLogTimesMax / 2);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_LT(all[i - 1].length, all[i].length);
    EXPECT_EQ(static_cast<std::uint64_t>(all[i].at_us) * 10, all[i].length);
  }
  EXPECT_EQ(all.back().length, 3 * kLogTimesMax * 10);
  EXPECT_EQ(all[all.size() - 2].length, (3 * kLogTimesMax - 1) * 10);
}

TEST_F(LogTimesTest, WhatCannotBeWrittenIsLeftOut) {
  LogTimes times(directory_ / "nowhere/rank0.times");
  times.note(wall_from_us(10), 100);
  EXPECT_TRUE(noted().empty());
}

}  // namespace
}  // namespace paceline::agent
