#include "agent/linux/remove_tree.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"
#include "files/as_user.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

constexpr uid_t kSomebody = 12'345;

class RemoveTreeTest : public ::testing::Test {
 protected:
  RemoveTreeTest() { EXPECT_EQ(::mkdir(tree_.c_str(), 0700), 0); }

  [[nodiscard]] UniqueFd open() const { return open(tree_); }
  static UniqueFd open(const std::string& path) {
    return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  static void make_file(int at, const char* name) {
    const UniqueFd made(::openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  static void make_deep(const std::string& path, int levels) {
    UniqueFd at = open(path);
    for (int i = 0; i < levels; ++i) {
      make_file(at.get(), "file");
      ASSERT_EQ(::symlinkat("/", at.get(), ".paceline-1"), 0);
      ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
      at = UniqueFd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  }
  [[nodiscard]] bool is_there() const { return ::access(tree_.c_str(), F_OK) == 0; }

  TempDirectory directory_;
  const std::string tree_ = directory_ / "tree";
};

// In memory, where directories are made and removed fast.
TEST_F(RemoveTreeTest, ADeepTreeTakesFewDescriptors) {
  std::string deep = "/dev/shm/paceline-test-XXXXXX";
  ASSERT_NE(::mkdtemp(deep.data()), nullptr);
  make_deep(deep, 3'000);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    ::_exit(remove_tree(deep) == Removal::done ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(::access(deep.c_str(), F_OK), 0);
}

TEST_F(RemoveTreeTest, ACallEndsAfterSoManyStepsAndTheNextGoesOn) {
  const UniqueFd at = open();
  for (int i = 0; i < 100; ++i) make_file(at.get(), fmt::format("{}", i).c_str());
  EXPECT_EQ(remove_tree(tree_, 60), Removal::more);
  EXPECT_EQ(list_directory(tree_).size(), 40U);
  EXPECT_EQ(remove_tree(tree_, 60), Removal::done);
  EXPECT_FALSE(is_there());
}

TEST_F(RemoveTreeTest, WhoGoesOnMakingFilesInItHoldsItForNoLongerThanItsSteps) {
  const UniqueFd at = open();
  std::atomic<bool> over = false;
  std::thread maker([&] {
    for (int i = 0; !over; ++i) make_file(at.get(), fmt::format("{}", i).c_str());
  });
  EXPECT_TRUE(eventually([&] { return !list_directory(tree_).empty(); }));
  for (int i = 0; i < 20; ++i) EXPECT_NE(empty_tree(tree_, 1'000), Removal::stuck);
  over = true;
  maker.join();
  EXPECT_EQ(remove_tree(tree_), Removal::done);
}

TEST_F(RemoveTreeTest, WhatItEmptiesIsTakenFromItsUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::mkdir((tree_ + "/inner").c_str(), 0777), 0);
  make_file(open().get(), "inner/file");
  for (const auto& path : {tree_, tree_ + "/inner"})
    ASSERT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
  const UniqueFd inner(::open((tree_ + "/inner").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(remove_tree(tree_, 2), Removal::more) << "the inner one has been looked into";
  struct stat info {};
  ASSERT_EQ(::fstat(inner.get(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(RemoveTreeTest, AUserRemovesWhatTheyMayNotEnter) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0711), 0);
  for (const char* name : {"", "/a", "/a/b", "/a/b/c"}) {
    const std::string path = tree_ + name;
    ASSERT_TRUE(make_directories(path, 0700));
    ASSERT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
  }
  for (const char* name : {"/a/b", "/a", ""}) ASSERT_EQ(::chmod((tree_ + name).c_str(), 0), 0);
  {
    const auto as = AsUser::begin(UserRights::of(kSomebody));
    EXPECT_EQ(empty_tree(tree_), Removal::done);
    EXPECT_EQ(remove_tree(tree_), Removal::stuck) << "it lies in root's";
  }
  EXPECT_EQ(remove_tree(tree_), Removal::done);
}

TEST_F(RemoveTreeTest, OfWhatAUserMayNotTouchNothingGoes) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0711), 0);
  ASSERT_TRUE(make_directories(tree_ + "/roots", 0755));
  make_file(open().get(), "roots/file");
  ASSERT_EQ(::chown(tree_.c_str(), kSomebody, kSomebody), 0);
  {
    const auto as = AsUser::begin(UserRights::of(kSomebody));
    EXPECT_EQ(empty_tree(tree_), Removal::stuck);
  }
  EXPECT_EQ(::access((tree_ + "/roots/file").c_str(), F_OK), 0);
}

TEST_F(RemoveTreeTest, FilesGoAndLinksAreNotFollowed) {
  make_file(open().get(), "file");
  const std::string link = directory_ / "link";
  ASSERT_EQ(::symlink(tree_.c_str(), link.c_str()), 0);
  EXPECT_EQ(remove_tree(link), Removal::done);
  EXPECT_EQ(empty_tree(link), Removal::done) << "it is gone";
  EXPECT_EQ(list_directory(tree_).size(), 1U);
  EXPECT_EQ(remove_tree(tree_ + "/file"), Removal::done);
}

}  // namespace
}  // namespace paceline::agent
