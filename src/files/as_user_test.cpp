#include "files/as_user.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "files/fd.hpp"
#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

constexpr std::uint32_t kSomebody = 40'001;

class AsUserTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may take on others' rights";
    ::chmod(folder_.path().c_str(), 0711);
    std::ofstream(folder_.path() / "secret") << "root's";
    ::chmod((folder_.path() / "secret").c_str(), 0600);
    std::filesystem::create_directory(folder_.path() / "own");
    ASSERT_EQ(::chown((folder_.path() / "own").c_str(), kSomebody, kSomebody), 0);
  }
  [[nodiscard]] bool opens(const char* name, int flags) const {
    return static_cast<bool>(UniqueFd(::open((folder_.path() / name).c_str(), flags, 0600)));
  }

  TempFolder folder_;
};

TEST_F(AsUserTest, WhatTheUserMayNotReadIsNotReadForThem) {
  {
    const auto as = AsUser::begin(UserRights::of(kSomebody));
    ASSERT_TRUE(as) << as.error().message;
    EXPECT_FALSE(opens("secret", O_RDONLY));
    EXPECT_FALSE(opens("new", O_WRONLY | O_CREAT));
    EXPECT_TRUE(opens("own/file", O_WRONLY | O_CREAT));
  }
  EXPECT_TRUE(opens("secret", O_RDONLY)) << "afterwards all is as before";
  struct stat made {};
  ASSERT_EQ(::stat((folder_.path() / "own/file").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, kSomebody);
}

// A process of root's that stands in a directory, and is gone with the test.
class Standing {
 public:
  explicit Standing(const std::filesystem::path& directory) : pid_(::fork()) {
    if (pid_ != 0) return;
    if (::chdir(directory.c_str()) == 0) ::pause();
    ::_exit(1);
  }
  ~Standing() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;
  [[nodiscard]] std::string cwd() const { return "/proc/" + std::to_string(pid_) + "/cwd"; }

 private:
  pid_t pid_;
};

TEST_F(AsUserTest, LinksOfRootsProcessesLeadNowhere) {
  const auto inner = folder_.path() / "closed/inner";
  std::filesystem::create_directories(inner);
  std::ofstream(inner / "file") << "root's";
  ::chmod(inner.parent_path().c_str(), 0700);
  const Standing process(inner);
  const auto opened = [path = process.cwd() + "/file"] {
    errno = 0;
    return static_cast<bool>(UniqueFd(::open(path.c_str(), O_RDONLY)));
  };
  while (std::filesystem::read_symlink(process.cwd()) != inner) std::this_thread::yield();
  {
    const auto as = AsUser::begin(UserRights::of(kSomebody));
    ASSERT_TRUE(as);
    EXPECT_FALSE(opened());
    EXPECT_EQ(errno, EACCES);
  }
  EXPECT_TRUE(opened()) << "afterwards all is as before";
}

TEST_F(AsUserTest, AThreadThatIsBegunThenHasThemToo) {
  const auto as = AsUser::begin(UserRights::of(kSomebody));
  ASSERT_TRUE(as);
  bool other = false;
  std::thread([&] { other = opens("secret", O_RDONLY); }).join();
  EXPECT_FALSE(other);
}

TEST_F(AsUserTest, AThreadThatWasThereBeforeKeepsItsRights) {
  bool other = false;
  std::atomic<bool> changed = false;
  std::thread thread([&] {
    while (!changed) std::this_thread::yield();
    other = opens("secret", O_RDONLY);
  });
  const auto as = AsUser::begin(UserRights::of(kSomebody));
  changed = true;
  thread.join();
  ASSERT_TRUE(as);
  EXPECT_TRUE(other);
}

TEST_F(AsUserTest, RootStaysRoot) {
  const auto as = AsUser::begin(UserRights::of(0));
  ASSERT_TRUE(as);
  EXPECT_TRUE(opens("secret", O_RDONLY));
}

}  // namespace
}  // namespace paceline
