// Logs that tests write and look at. For tests only.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "agent/linux/files.hpp"
#include "agent/linux/log_file.hpp"
#include "agent/linux/testing.hpp"
#include "files/fd.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {

inline constexpr std::uint64_t kMiB = 1 << 20;

class LogFilesTest : public ::testing::Test {
 protected:
  struct Hole {
    std::uint64_t begin = 0, end = 0;
  };

  // More of it, written so many seconds after the others.
  void write(const LogKey& log, std::uint64_t bytes, int at = 0) {
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
  // Its text, a hole as what stands there: zeros.
  std::string log(const LogKey& log) { return contents(path_of(log)); }
  std::uint64_t next_hole(const LogKey& log, std::uint64_t from) {
    return seek(log, from, SEEK_HOLE);
  }
  // The first bytes that take no room; none: the log's end twice.
  Hole first_hole(const LogKey& log) {
    const std::uint64_t begin = seek(log, 0, SEEK_HOLE);
    return {begin, seek(log, begin, SEEK_DATA)};
  }

  TempDirectory directory_;

 private:
  std::uint64_t seek(const LogKey& log, std::uint64_t from, int what) {
    const UniqueFd fd(::open(path_of(log).c_str(), O_RDONLY | O_CLOEXEC));
    const off_t found = ::lseek(fd.get(), static_cast<off_t>(from), what);
    return static_cast<std::uint64_t>(found < 0 ? look(log).st_size : found);
  }
};

}  // namespace paceline::agent
