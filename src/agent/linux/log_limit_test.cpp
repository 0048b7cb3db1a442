#include "agent/linux/log_limit.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/linux/files.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/testing.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class LogLimitTest : public ::testing::Test {
 protected:
  // Written so many seconds after the others.
  void write(const LogKey& log, std::uint64_t bytes, int at) {
    const std::string path = path_of(log);
    ASSERT_TRUE(make_directories(path.substr(0, path.rfind('/')), 0700));
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(write_all(fd.get(), std::string(bytes, 'x')));
    const timespec times[] = {{1'700'000'000 + at, 0}, {1'700'000'000 + at, 0}};
    ::futimens(fd.get(), times);
  }
  std::string path_of(const LogKey& log) {
    return log_path(directory_.path(), log.first, log.second);
  }
  struct stat look(const LogKey& log) {
    struct stat info {};
    EXPECT_EQ(::stat(path_of(log).c_str(), &info), 0);
    return info;
  }
  std::uint64_t room(const LogKey& log) {
    return static_cast<std::uint64_t>(look(log).st_blocks) * 512;
  }
  // Bytes before the first that is there.
  std::uint64_t hole(const LogKey& log) {
    const UniqueFd fd(::open(path_of(log).c_str(), O_RDONLY | O_CLOEXEC));
    const off_t data = ::lseek(fd.get(), 0, SEEK_DATA);
    return static_cast<std::uint64_t>(data < 0 ? look(log).st_size : data);
  }

  TempDirectory directory_;
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
