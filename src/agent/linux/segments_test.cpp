#include "agent/linux/segments.hpp"

#include <gmock/gmock.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "agent/linux/marks.hpp"
#include "agent/linux/memory_testing.hpp"
#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

constexpr GangKey kGang{JobId{1}, Generation{1}};

TEST(Segments, AreReadFromTheKernelsTable) {
  const auto segments = parse_segments(
      "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  "
      "cgid  "
      "    atime      dtime      ctime                   rss                  swap\n"
      "         0          7   600                  4096   321   322      2  1000  1001  1002  "
      "1003  "
      "        1          2 1700000000                  4096                     0\n"
      "not a line\n");
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].id, 7);
  EXPECT_EQ(segments[0].maker, 321);
  EXPECT_EQ(segments[0].attached, 2U);
  EXPECT_EQ(segments[0].uid, 1000U);
  EXPECT_EQ(segments[0].maker_uid, 1002U);
  EXPECT_EQ(segments[0].changed_at, 1'700'000'000);
}

// Processes that make a segment and wait; all of them and all segments are gone after the test.
class SegmentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    made_here_ = ::shmget(IPC_PRIVATE, 4096, 0600);
    if (made_here_ < 0) GTEST_SKIP() << "no System V shared memory here";
  }
  void TearDown() override {
    for (const pid_t pid : makers_) end(pid);
    for (const int id : made_) ::shmctl(id, IPC_RMID, nullptr);
    ::shmctl(made_here_, IPC_RMID, nullptr);
  }

  static void end(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  // The id of what a process with this in its environment made.
  int made_by(const std::string& marker) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(ends[1], 1);
      const std::string script =
          "import ctypes, time\n"
          "print(ctypes.CDLL(None).shmget(0, 4096, 0o600), flush=True)\n"
          "time.sleep(1000)\n";
      ::execlp("env", "env", marker.c_str(), "python3", "-c", script.c_str(), nullptr);
      ::_exit(127);
    }
    makers_.push_back(pid);
    ::close(ends[1]);
    std::string text(16, '\0');
    const auto got = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    made_.push_back(got > 0 ? std::atoi(text.c_str()) : -1);
    return made_.back();
  }
  static bool exists(int id) {
    shmid_ds info{};
    return ::shmctl(id, IPC_STAT, &info) == 0;
  }
  GangSegments::Owner owner(std::uint32_t job) { return {::geteuid(), marker(job)}; }
  std::string marker(std::uint32_t job) { return marks_.marker(key(job)); }

  TempDirectory directory_;
  Marks marks_{directory_.path()};
  GangSegments segments_;
  int made_here_ = -1;
  std::vector<pid_t> makers_;
  std::vector<int> made_;
};

TEST_F(SegmentsTest, OfAGangGoWithItAndNothingElseDoes) {
  const int before = made_by(marker(1));
  segments_.watch(kGang, owner(1));
  segments_.watch({JobId{2}, Generation{1}}, owner(2));
  const int its = made_by(marker(1)), others = made_by(marker(2)), users = made_by("NO=marker");
  const int in_use = made_by(marker(1));
  void* const attached = ::shmat(in_use, nullptr, 0);
  segments_.look();
  for (const pid_t pid : makers_) end(pid);
  const int late = made_by(marker(1));
  segments_.forget(kGang);
  EXPECT_FALSE(exists(its));
  for (const int id : {before, others, users, in_use, late, made_here_}) EXPECT_TRUE(exists(id));
  ::shmdt(attached);
}

TEST_F(SegmentsTest, OfWhoDoesNotShowWhoItIsAreLeftAndHoldNobodyUp) {
  segments_.watch(kGang, owner(1));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  SilentProcess silent([&] {
    const int id = ::shmget(IPC_PRIVATE, 4096, 0600);
    static_cast<void>(::write(ends[1], &id, sizeof id));
  });
  if (!silent.is_silent()) GTEST_SKIP() << "no file systems of one's own here";
  int unknown = -1;
  ASSERT_EQ(::read(ends[0], &unknown, sizeof unknown), static_cast<ssize_t>(sizeof unknown));
  made_.push_back(unknown);
  const int its = made_by(marker(1));
  for (int i = 0; i < 100; ++i) segments_.look();
  segments_.forget(kGang);
  EXPECT_FALSE(exists(its));
  EXPECT_TRUE(exists(unknown));
  for (const int end_of_pipe : ends) ::close(end_of_pipe);
}

TEST_F(SegmentsTest, OfWhoEndedUnseenAreLeft) {
  segments_.watch(kGang, owner(1));
  const int unseen = made_by(marker(1));
  end(makers_.back());
  segments_.look();
  segments_.forget(kGang);
  EXPECT_TRUE(exists(unseen));
}

}  // namespace
}  // namespace paceline::agent
