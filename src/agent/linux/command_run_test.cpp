#include "agent/linux/command_run.hpp"

#include <gmock/gmock.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstdlib>

namespace paceline::agent {
namespace {

using ::testing::HasSubstr;

// What such a command says.
std::string said(const std::vector<std::string>& command, const CommandRun::Options& options) {
  boost::asio::io_context io;
  CommandRun run(io);
  std::string output;
  const int error = run.start(command, options, [&](const auto& ended) { output = ended.output; });
  EXPECT_EQ(error, 0);
  io.run();
  return output;
}

CommandRun::Options apart() {
  return {.patience = std::chrono::seconds{30},
          .environment = std::vector<std::string>{"PATH=/usr/bin:/bin", "ONLY=this"}};
}

TEST(CommandRunEnvironment, IsTheAgentsOwnIfNoneIsGiven) {
  ::setenv("PACELINE_TEST_SECRET", "x", 1);
  EXPECT_THAT(said({"env"}, {.patience = std::chrono::seconds{30}}),
              HasSubstr("PACELINE_TEST_SECRET=x\n"));
  ::unsetenv("PACELINE_TEST_SECRET");
}

TEST(CommandRunEnvironment, IsNoOtherThanTheOneThatIsGiven) {
  ::setenv("PACELINE_TEST_SECRET", "x", 1);
  EXPECT_EQ(said({"env"}, apart()), "PATH=/usr/bin:/bin\nONLY=this\n");
  ::unsetenv("PACELINE_TEST_SECRET");
}

TEST(CommandRunEnvironment, ThatIsGivenComesWithoutTheAgentsKeys) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root starts programs of others";
  const char* name = "paceline-run-test";
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 ||
      ::syscall(SYS_add_key, "user", name, "x", 1, KEY_SPEC_SESSION_KEYRING) < 0)
    GTEST_SKIP() << "this machine has no keyrings";
  const std::vector<std::string> command{
      "setpriv", "--reuid=65534", "--clear-groups", "--", "grep", "-c", name, "/proc/keys"};
  EXPECT_EQ(said(command, {.patience = std::chrono::seconds{30}}), "1\n");
  EXPECT_EQ(said(command, apart()), "0\n");
  ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
}

TEST(CommandRunEnvironment, IsGivenOnlyWhereThereIsAProgram) {
  boost::asio::io_context io;
  CommandRun run(io);
  EXPECT_EQ(run.start({"/no/program"}, apart(), [](const auto&) {}), ENOENT);
}

}  // namespace
}  // namespace paceline::agent
