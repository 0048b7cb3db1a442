#include "agent/linux/process.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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
  EXPECT_THAT(children(::getpid()), testing::Contains(pid));
  EXPECT_THAT(descendants(::getpid()), testing::Contains(pid));
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
}

}  // namespace
}  // namespace paceline::agent
