#include "agent/linux/unclaimed.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

TEST(RemovedClaim, IsAClaimsFileOfThisDirectoryThatIsNoMore) {
  const std::string directory = "/srv/agent/workers";
  EXPECT_EQ(removed_claim("/srv/agent/workers/7.2.0 (deleted)", directory), key(7, 2, 0));
  for (const char* link :
       {"/srv/agent/workers/7.2.0", "/srv/agent/workers/7.2.0 (deleted) x",
        "/other/agent/workers/7.2.0 (deleted)", "/srv/agent/workers/7.2 (deleted)",
        "/srv/agent/workers/x/7.2.0 (deleted)", "/srv/agent/workers7.2.0 (deleted)", "",
        " (deleted)"})
    EXPECT_EQ(removed_claim(link, directory), std::nullopt) << link;
}

class UnclaimedTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(make_directories(directory_ / "agent/workers", 0700)); }

  // Whose removed files of that name count as claims, where a process called like a supervisor holds one
  // that `make` made.
  std::set<ProcessKey> held(const std::function<int(const std::string& path)>& make) {
    const std::string path = directory_ / "agent/workers/7.2.0";
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_NAME, "pl-7.2.0");
      const bool made = make(path) >= 0 && ::unlink(path.c_str()) == 0;
      static_cast<void>(::write(ends[1], made ? "y" : "n", 1));
      while (true) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    const auto found = find_unclaimed(Marks(directory_.path()));
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    for (const int end : ends) ::close(end);
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    std::set<ProcessKey> keys;
    if (found)
      for (const auto& [key, claim] : found->removed) keys.insert(key);
    return keys;
  }
  static int make_file(const std::string& path, mode_t mode = 0600) {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL, mode);
  }

  TempDirectory directory_;
};

TEST_F(UnclaimedTest, AClaimIsAFileThatOnlyThisServersUserCanHaveMade) {
  const std::set<ProcessKey> nobody, own{key(7, 2, 0)};
  EXPECT_EQ(held([](const std::string& path) { return make_file(path); }), own);
  EXPECT_EQ(held([](const std::string& path) { return make_file(path, 0644); }), nobody);
  EXPECT_EQ(held([](const std::string& path) {
              return ::mkfifo(path.c_str(), 0600) == 0 ? ::open(path.c_str(), O_RDWR) : -1;
            }),
            nobody);
  EXPECT_EQ(held([](const std::string& path) {
              const int fd = make_file(path);
              return ::link(path.c_str(), (path + ".kept").c_str()) == 0 ? fd : -1;
            }),
            nobody);
  if (::geteuid() != 0) GTEST_SKIP() << "the rest needs a second user";
  EXPECT_EQ(held([](const std::string& path) {
              const int fd = make_file(path);
              return ::fchown(fd, 65534, 65534) == 0 ? fd : -1;
            }),
            nobody);
}

// With a mount there, a user can hold a file of any path.
TEST_F(UnclaimedTest, AClaimLiesOnTheDiskOfTheClaims) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root mounts without a user namespace";
  const auto found = held([&](const std::string& path) {
    const bool mounted =
        ::unshare(CLONE_NEWNS) == 0 &&
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("none", path.substr(0, path.rfind('/')).c_str(), "tmpfs", 0, nullptr) == 0;
    return mounted ? make_file(path) : -1;
  });
  EXPECT_EQ(found, std::set<ProcessKey>());
}

// A process as /proc shows one.
class FakeProcess {
 public:
  FakeProcess(const std::string& proc, pid_t pid) : place_(proc + "/" + std::to_string(pid)) {
    EXPECT_TRUE(make_directories(place_, 0700));
    write("comm", "python3\n");
    write("stat",
          std::to_string(pid) + " (python3) S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98 1\n");
  }
  void write(const std::string& name, const std::string& text) const {
    EXPECT_TRUE(replace_file(AT_FDCWD, (place_ + "/" + name).c_str(), text));
  }
  // Whoever reads its environment waits for ever.
  void keep_silent() const { EXPECT_EQ(::mkfifo((place_ + "/environ").c_str(), 0600), 0); }

 private:
  std::string place_;
};

TEST_F(UnclaimedTest, AProcessThatDoesNotShowItsEnvironmentHoldsNobodyUp) {
  const Marks marks(directory_.path());
  const FakeProcess silent(directory_ / "proc", 10), ours(directory_ / "proc", 11);
  silent.keep_silent();
  ours.write("environ", std::string("A=1\0", 4) + marks.marker(key(7, 2, 0)));
  const auto found = find_unclaimed(marks, directory_ / "proc");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->marked, std::set<ProcessKey>{key(7, 2, 0)});
}

TEST(Unclaimed, IsNobodyWhereNobodyIs) {
  const TempDirectory directory;
  ASSERT_TRUE(make_directories(directory / "agent/workers", 0700));
  const auto found = find_unclaimed(Marks(directory.path()));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->removed.empty());
  EXPECT_TRUE(found->marked.empty());
}

}  // namespace
}  // namespace paceline::agent
