#include "agent/linux/worker_stacks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <optional>

#include "agent/linux/stacks_door.hpp"
#include "agent/linux/testing.hpp"
#include "files/write_all.hpp"
#include "http/unix_socket.hpp"

namespace paceline::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ScriptStacks, NameAProcessAndItsText) {
  const auto told = parse_script_stacks(R"({"pid": 7, "text": "MainThread\n"})");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->pid, 7);
  EXPECT_EQ(told->text, "MainThread\n");
  for (const char* wrong : {"", "[]", "{}", R"({"pid": -7, "text": ""})", R"({"pid": 7})",
                            R"({"pid": 7, "text": 7})", R"({"pid": 99999999999, "text": ""})"})
    EXPECT_THAT(parse_script_stacks(wrong).error().message, HasSubstr("POST /v1/stacks takes"))
        << wrong;
}

TEST(ThreadsText, SaysOfEachThreadWhatTheKernelSees) {
  EXPECT_THAT(threads_text(::getpid()),
              AllOf(HasSubstr("thread " + std::to_string(::getpid())), HasSubstr("running")));
  EXPECT_EQ(threads_text(0), "");
}

// A process that sleeps, and is gone with the test.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ == 0) {
      ::pause();
      ::_exit(0);
    }
    while (threads_text(pid_).find("sleeping") == std::string::npos) ::usleep(1000);
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

class WorkerStacksTest : public ::testing::Test {
 protected:
  std::string collect(std::size_t scripts, const std::optional<ScriptStacks>& said = {}) {
    std::optional<std::string> text;
    stacks_.collect({{sleeper_.pid()}, ::geteuid(), scripts},
                    [&](std::string told) { text = std::move(told); });
    if (said) stacks_.take(*said);
    while (!text) io_.run_one();
    return *text;
  }

  boost::asio::io_context io_;
  WorkerStacks stacks_{io_};
  Sleeper sleeper_;
};

TEST_F(WorkerStacksTest, TellWhatThereIs) {
  const auto text = collect(0);
  EXPECT_THAT(
      text, AllOf(HasSubstr("process " + std::to_string(sleeper_.pid())), HasSubstr("-- threads\n"),
                  HasSubstr("sleeping"), HasSubstr("-- native\n"), Not(HasSubstr("-- Python")),
                  HasSubstr("No Python stacks: none")));
  EXPECT_FALSE(stacks_.collects());
}

TEST_F(WorkerStacksTest, HaveWhatTheScriptTells) {
  const auto text = collect(1, ScriptStacks{sleeper_.pid(), "MainThread\n  \x1b[2Jtrain.py\n"});
  EXPECT_THAT(text, AllOf(HasSubstr("-- Python\nMainThread\n"), HasSubstr("train.py"),
                          Not(HasSubstr("\x1b")), Not(HasSubstr("did not answer"))));
}

TEST_F(WorkerStacksTest, SayThatAScriptDidNotAnswer) {
  EXPECT_THAT(collect(1), HasSubstr("did not answer in time"));
}

TEST_F(WorkerStacksTest, AreToldToAllWhoAskMeanwhile) {
  std::vector<std::string> told;
  const auto tell = [&](std::string text) { told.push_back(std::move(text)); };
  stacks_.collect({{sleeper_.pid()}, ::geteuid(), 0}, tell);
  ASSERT_TRUE(stacks_.collects());
  stacks_.join(tell);
  while (told.size() < 2) io_.run_one();
  EXPECT_EQ(told[0], told[1]);
}

TEST_F(WorkerStacksTest, AreNotTakenOfOthersProcesses) {
  std::optional<std::string> text;
  stacks_.collect({{sleeper_.pid()}, ::geteuid() + 1, 0},
                  [&](std::string told) { text = std::move(told); });
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("It is not the job's user's"));
}

// ---- the agent's socket ----

class StacksDoorTest : public ::testing::Test {
 protected:
  // What is answered to these words.
  std::string ask(const std::string& words) {
    const auto fd = connect_unix(directory_ / "agent/stacks.sock", Connecting::non_blocking);
    EXPECT_TRUE(fd);
    EXPECT_TRUE(write_all(fd->get(), words));
    std::string text;
    char piece[4096];
    host_.until([&] {
      const auto count = ::read(fd->get(), piece, sizeof piece);
      if (count > 0) text.append(piece, static_cast<std::size_t>(count));
      return count == 0;
    });
    return text;
  }

  TempDirectory directory_;
  TestHost host_{directory_.path()};
};

TEST_F(StacksDoorTest, TellsOfAWorkerThatRuns) {
  host_.start(shell_worker(key(7), "exec sleep 1000"));
  host_.running(key(7));
  EXPECT_TRUE(host_.until([&] { return ask("7.1.0\n").find("(sleep)") != std::string::npos; }));
  host_->perform(Kill{key(7)});
  host_.gone(key(7));
  EXPECT_EQ(ask("7.1.0\n"), "No such worker runs here.\n");
}

TEST_F(StacksDoorTest, AnswersNonsenseInOneSentence) {
  for (const char* words : {"\n", "7\n", "7.1.0.2\n", "../x\n", "9.9.9\n"})
    EXPECT_EQ(ask(words), "No such worker runs here.\n") << words;
  EXPECT_EQ(ask(std::string(100, '7')), "") << "it is no name";
}

}  // namespace
}  // namespace paceline::agent
