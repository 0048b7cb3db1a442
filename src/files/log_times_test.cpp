#include "files/log_times_writer.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "files/log_times.hpp"
#include "files/log_times_reader.hpp"
#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

class LogTimesTest : public ::testing::Test {
 protected:
  std::vector<LogTime> noted() {
    const std::string text = contents();
    std::vector<LogTime> times(text.size() / sizeof(LogTime));
    if (!times.empty()) std::memcpy(times.data(), text.data(), times.size() * sizeof(LogTime));
    return times;
  }

  [[nodiscard]] std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  TempFolder folder_;
  std::string path_ = times_path(folder_.path() / "rank0.log");
};

TEST_F(LogTimesTest, NotesWhenALogGrew) {
  EXPECT_EQ(path_, folder_.path() / "rank0.times");
  LogTimesWriter times(path_);
  times.note(wall_from_us(10), 100);
  times.note(wall_from_us(20), 100);
  times.note(wall_from_us(30), 150);
  EXPECT_EQ(noted(), (std::vector<LogTime>{{10, 100}, {30, 150}}));
}

TEST_F(LogTimesTest, GoesOnBehindAnEarlierOneAndOverAHalfOfANote) {
  LogTimesWriter(path_).note(wall_from_us(10), 100);
  ASSERT_EQ(::truncate(path_.c_str(), 25), 0);
  LogTimesWriter times(path_);
  times.note(wall_from_us(20), 100);
  times.note(wall_from_us(30), 150);
  EXPECT_EQ(noted(), (std::vector<LogTime>{{10, 100}, {30, 150}}));
}

TEST_F(LogTimesTest, LeavesOutEveryOtherOneWhereThereAreManyAndKeepsTheNewest) {
  LogTimesWriter times(path_);
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

TEST_F(LogTimesTest, AreReadBack) {
  LogTimesWriter times(path_);
  times.note(wall_from_us(10), 100);
  times.note(wall_from_us(30), 150);
  const LogTimesReader known(path_);
  EXPECT_EQ(known.after(100, 8), (std::vector<LogTime>{{30, 150}}));
  EXPECT_EQ(known.length_at(wall_from_us(20)), 100U);
}

TEST_F(LogTimesTest, WhatCannotBeWrittenIsLeftOut) {
  LogTimesWriter times(folder_.path() / "nowhere/rank0.times");
  times.note(wall_from_us(10), 100);
  EXPECT_TRUE(noted().empty());
}

}  // namespace
}  // namespace paceline
