#include "agent/linux/log_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/linux/log_tail.hpp"
#include "agent/linux/log_testing.hpp"
#include "agent/linux/timeline_file.hpp"
#include "files/log_names.hpp"

namespace paceline::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Another process that leases a file. Who waits for it gets the file after 45 seconds.
class LeaseHolder {
 public:
  LeaseHolder(const std::string& path, int flags, int lease) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    const UniqueFd writing(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) hold(path, flags, lease, writing.get());
    char held = 0;
    holds_ = ::read(reading.get(), &held, 1) == 1 && held == 'y';
  }
  LeaseHolder(const LeaseHolder&) = delete;
  LeaseHolder& operator=(const LeaseHolder&) = delete;
  ~LeaseHolder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  [[noreturn]] static void hold(const std::string& path, int flags, int lease, int told) {
    ::signal(SIGIO, SIG_IGN);
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    const char held = ::fcntl(fd, F_SETLEASE, lease) == 0 ? 'y' : 'n';
    static_cast<void>(::write(told, &held, 1) < 0);
    while (true) ::pause();
  }

  pid_t pid_ = 0;
  bool holds_ = false;
};

class LogFileTest : public LogFilesTest {
 protected:
  Result<std::int64_t> begin() {
    return begin_log(directory_.path(), shell_worker(key(7), ""), WallTime{});
  }

  const LogKey log_{JobId{7}, 0};
  const std::string path_ = path_of(log_);
};

TEST_F(LogFileTest, ALeaseOnItIsAConflictWithItsOwner) {
  ASSERT_TRUE(begin());
  const LeaseHolder holder(path_, O_RDONLY, F_RDLCK);
  if (!holder.holds()) GTEST_SKIP() << "no leases here";
  const auto begun = begin();
  ASSERT_FALSE(begun);
  EXPECT_THAT(begun.error().message, AllOf(HasSubstr("'" + path_ + "'"), HasSubstr("lease")));
  EXPECT_EQ(begun.error().code, ErrorCode::conflict);
  EXPECT_EQ(begun.error().retry, Retry::may_help);
  EXPECT_FALSE(open_log(path_, O_WRONLY | O_APPEND)) << "as the supervisor opens it";
  add_log_note(path_, "left out");
}

TEST_F(LogFileTest, AHostRefusesThatStartAlone) {
  ASSERT_TRUE(begin());
  const LeaseHolder holder(path_, O_RDONLY, F_RDLCK);
  if (!holder.holds()) GTEST_SKIP() << "no leases here";
  TestHost host(directory_.path());
  host.start(shell_worker(key(7, 2), "true"));
  const WorkerGone gone = host.gone(key(7, 2));
  EXPECT_EQ(gone.cause, Cause::refused);
  EXPECT_TRUE(gone.alone) << "others may start";
  EXPECT_THAT(gone.message, HasSubstr(path_));
}

TEST_F(LogFileTest, ALeaseKeepsNoReaderWaiting) {
  write(log_, 10);
  const LeaseHolder holder(path_, O_RDWR, F_WRLCK);
  if (!holder.holds()) GTEST_SKIP() << "no leases here";
  WorkerOrder order;
  order.key = key(7);
  order.command = {"x"};
  ASSERT_TRUE(ClaimFile::create(directory_ / "claim", order));
  ClaimFile claim = ClaimFile::open(directory_ / "claim");
  ReportLedger ledger(claim, 0);
  LogTail tail(path_, ledger, [](std::uint64_t, const Report&) {});
  EXPECT_EQ(tail.step(), 0U);
}

TEST_F(LogFileTest, ALeaseKeepsNoTimelineWaiting) {
  const LogKey timeline{JobId{7}, timeline_of(0)};
  write(timeline, 10);
  const LeaseHolder holder(path_of(timeline), O_RDONLY, F_RDLCK);
  if (!holder.holds()) GTEST_SKIP() << "no leases here";
  const auto added = add_to_timeline(path_of(timeline), ::geteuid(), "line\n");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::conflict);
}

TEST_F(LogFileTest, WhatIsOpenedBlocks) {
  const UniqueFd fd = open_log(directory_ / "log", O_WRONLY | O_APPEND | O_CREAT);
  ASSERT_TRUE(fd);
  EXPECT_EQ(::fcntl(fd.get(), F_GETFL) & (O_NONBLOCK | O_APPEND), O_APPEND);
}

}  // namespace
}  // namespace paceline::agent
