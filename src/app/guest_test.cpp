#include "app/guest.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/linux/process.hpp"
#include "files/temp_folder_testing.hpp"

namespace paceline {
namespace {

// A guest in a process of its own, whose agent is a shell command.
class GuestTest : public ::testing::Test {
 protected:
  void start(const std::string& command, std::chrono::milliseconds save_within = kSaveWithin) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    const auto code = run_as_guest(
        directory(),
        [&] {
          ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
          return 127;
        },
        save_within);
    ::_exit(code ? *code : 99);
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Once the command has written it.
  [[nodiscard]] pid_t pid_in(const std::string& name) const {
    for (int i = 0; i < 3000; ++i) {
      pid_t pid = 0;
      if (std::ifstream(folder_.path() / name) >> pid) return pid;
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return 0;
  }
  [[nodiscard]] std::string directory() const { return (folder_.path() / "guest").string(); }
  [[nodiscard]] std::string file(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  TempFolder folder_;
  pid_t pid_ = 0;
};

TEST_F(GuestTest, ReturnsWhatItsAgentReturns) {
  start("exit 7");
  EXPECT_EQ(wait(), 7);
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(GuestTest, NothingOutlivesItsAgent) {
  start("(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > " + file("left") +
            "; while :; do sleep 1; done') & while [ ! -s " + file("left") +
            " ]; do sleep 0.01; done; kill -9 $$",
        std::chrono::milliseconds{200});
  const auto left = agent::identify(pid_in("left"));
  EXPECT_TRUE(agent::is_alive(left));
  EXPECT_EQ(wait(), 128 + SIGKILL);
  EXPECT_FALSE(agent::is_alive(left));
}

TEST_F(GuestTest, ASignalEndsTheAgentFirstAndLetsWorkersSave) {
  start("setsid sh -c 'trap \"echo 1 > " + file("saved") + "; exit 0\" TERM; echo $$ > " +
            file("worker") + "; while :; do sleep 0.05; done' & exec sleep 1000",
        std::chrono::minutes{1});
  const auto worker = agent::identify(pid_in("worker"));
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(wait(), 0);
  EXPECT_FALSE(agent::is_alive(worker));
  EXPECT_TRUE(std::filesystem::exists(file("saved")));
}

TEST_F(GuestTest, ADirectoryThatHoldsSomethingIsNone) {
  std::filesystem::create_directory(directory());
  std::ofstream(directory() + "/thesis.tex") << "x";
  start("exit 0");
  EXPECT_EQ(wait(), 99);
  EXPECT_TRUE(std::filesystem::exists(directory() + "/thesis.tex"));
}

}  // namespace
}  // namespace paceline
