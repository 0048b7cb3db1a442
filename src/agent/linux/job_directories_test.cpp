#include "agent/linux/job_directories.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

class JobDirectoriesTest : public ::testing::Test {
 protected:
  JobDirectoriesTest() {
    EXPECT_EQ(::chmod(directory_.path().c_str(), 0711), 0);
    EXPECT_EQ(::mkdir((directory_ / "jobs").c_str(), 0711), 0);
  }
  // Of a user, where this is root.
  void make_directory(const std::string& name, int levels) {
    const std::string path = directory_ / ("jobs/" + name);
    ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
    UniqueFd at(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < levels; ++i) {
      ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
      give(at.get());
      at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    give(at.get());
  }
  static void give(int directory) {
    constexpr uid_t kUser = 12'345;
    if (::geteuid() != 0) return;
    ASSERT_EQ(::fchown(directory, kUser, kUser), 0);
  }

  TempDirectory directory_;
};

TEST_F(JobDirectoriesTest, OneIsRemovedHoweverDeepAndOthersStay) {
  make_directory("7-9f86d081884c7d65", 100);
  make_directory("8-9f86d081884c7d65", 1);
  boost::asio::io_context io;
  JobDirectories directories(io, directory_.path(), "box", {});
  directories.remove(JobId{7});
  directories.remove(JobId{7});
  EXPECT_TRUE(eventually([&] {
    io.poll();
    return directories.jobs() == std::set{JobId{8}};
  }));
}

}  // namespace
}  // namespace paceline::agent
