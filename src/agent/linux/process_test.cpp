#include "agent/linux/process.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "agent/linux/files.hpp"
#include "agent/linux/signals.hpp"

namespace paceline::agent {
namespace {

TEST(Process, ReadsAStatWhateverTheName) {
  const std::string tail =
      " 17 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1000 200 18446744073709551615\n";
  const auto stat = parse_stat("42 (evil) S 1 (x)) R" + tail);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->start_time, 987654U);
  EXPECT_TRUE(stat->runs_own_program);
  EXPECT_FALSE(parse_stat(""));
  EXPECT_FALSE(parse_stat("42 (x) R 1"));
}

TEST(Process, IsAliveUntilItDies) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  const ProcessId id = identify(pid);
  EXPECT_TRUE(is_alive(id));
  EXPECT_FALSE(is_alive({pid, id.start_time + 1}));
  EXPECT_FALSE(read_stat(pid)->runs_own_program);
  EXPECT_THAT(children(::getpid()), ::testing::Contains(pid));
  EXPECT_THAT(descendants(::getpid()), ::testing::Contains(pid));
  ::kill(pid, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
  EXPECT_FALSE(is_alive(id));
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(is_alive(id));
}

TEST(Process, AMarkIsAWholeEntry) {
  const std::string environ("A=1\0PACELINE_WORKER=7.2.0@/d\0B=2", 33);
  EXPECT_TRUE(has_environment_entry(environ, "PACELINE_WORKER=7.2.0@/d"));
  EXPECT_FALSE(has_environment_entry(environ, "PACELINE_WORKER=7.2.0@/"));
  EXPECT_FALSE(has_environment_entry(environ, "WORKER=7.2.0@/d"));
  EXPECT_TRUE(has_environment_entry(environ, "B=2"));
  EXPECT_FALSE(has_environment_entry(environ, ""));
}

TEST(Process, NobodyIsFoundByWhatIsNoMarker) {
  EXPECT_TRUE(is_marker("PACELINE_WORKER=7.2.0@/d/agent/workers/7.2.0"));
  EXPECT_TRUE(is_marker("PACELINE_WORKER=7.2.0@/d/agent/workers/7.2.0#0123456789abcdef"));
  ::setenv("PACELINE_WORKER_TEST", "1", 1);
  for (const char* entry :
       {"", "=", "A", "PATH=/bin", "PACELINE_WORKER=", "PACELINE_WORKER=7.2.0",
        "PACELINE_WORKER=7.2.0@/d/agent/workers/7.2.1", "larker=7.2.0@/d/agent/workers/7.2.0"}) {
    EXPECT_FALSE(is_marker(entry)) << entry;
    EXPECT_TRUE(marked_processes(entry).nobody()) << entry;
  }
  // Every process has this one; it is no marker.
  const auto environ = read_file("/proc/self/environ").value_or("");
  EXPECT_TRUE(marked_processes(environ.substr(0, environ.find('\0'))).nobody());
}

TEST(Signals, ReachNeitherGroupsNorInitNorOneselfNorAncestors) {
  const std::vector<pid_t> above = ancestors();
  EXPECT_THAT(above, ::testing::Contains(::getppid()));
  for (const pid_t pid : {-1, 0, 1, ::getpid(), ::getppid()}) EXPECT_FALSE(may_signal(pid, above));
  // Were one of these sent, there would be nobody left to tell.
  send_signal(std::vector<pid_t>{-1, 0, 1, ::getpid()}, SIGKILL);
  EXPECT_FALSE(send_signal(identify(::getpid()), SIGKILL));
}

TEST(Signals, ReachAProcessAndNotItsSuccessor) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    while (true) ::pause();
  }
  ProcessId stranger = identify(pid);
  ++stranger.start_time;
  EXPECT_FALSE(send_signal(stranger, SIGKILL));
  EXPECT_TRUE(send_signal(identify(pid), SIGKILL));
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace paceline::agent
