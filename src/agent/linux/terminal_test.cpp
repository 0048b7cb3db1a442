#include "agent/linux/terminal.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "agent/linux/files.hpp"
#include "agent/linux/testing.hpp"
#include "files/write_all.hpp"

namespace paceline::agent {
namespace {

using ::testing::HasSubstr;

TEST(TerminalInput, TakesOutTheSizeAlone) {
  TerminalInput input;
  std::optional<TerminalSize> size;
  EXPECT_EQ(input.take("ls\x1b[8;50;132t -l\x1b[A", size), "ls -l\x1b[A");
  EXPECT_EQ(size, (TerminalSize{50, 132}));
}

TEST(TerminalInput, ASizeMayComeInPieces) {
  TerminalInput input;
  std::optional<TerminalSize> size;
  EXPECT_EQ(input.take("a\x1b[8;5", size), "a");
  EXPECT_FALSE(size);
  EXPECT_EQ(input.take("0;132tb", size), "b");
  EXPECT_EQ(size, (TerminalSize{50, 132}));
}

TEST(TerminalInput, WhatIsNoSizeIsTyped) {
  TerminalInput input;
  std::optional<TerminalSize> size;
  for (const char* text :
       {"\x1b", "\x1b[8~", "\x1b[8;x", "\x1b[8;0;0t", "\x1b[8;111111111111111111111111"})
    EXPECT_EQ(input.take(text, size), text);
  EXPECT_FALSE(size);
}

// A job whose rank 0 has a terminal.
class TerminalTest : public ::testing::Test {
 protected:
  void start(const std::string& script) {
    WorkerLaunch launch = shell_worker(key(1), script);
    launch.pty = true;
    host_.start(launch);
  }
  UniqueFd attach() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (directory_ / "agent/terminals/1.1.0.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  // Reads until `text` was among it.
  bool shows(const UniqueFd& fd, const std::string& text) {
    char buffer[4096];
    return host_.until([&] {
      const ssize_t n = ::recv(fd.get(), buffer, sizeof buffer, 0);
      if (n > 0) shown_.append(buffer, static_cast<std::size_t>(n));
      return shown_.find(text) != std::string::npos;
    });
  }

  TempDirectory directory_;
  TestHost host_{directory_.path()};
  std::string shown_;
};

TEST_F(TerminalTest, IsOneAndShowsWhatWasBefore) {
  start("test -t 0 && test -t 1 && stty size; read x; echo got $x; stty size; exit 7");
  host_.running(key(1));
  ASSERT_TRUE(host_.until([&] {
    return contents(directory_ / "logs/1/rank0.log").find("24 80") != std::string::npos;
  }));
  const UniqueFd fd = attach();
  EXPECT_TRUE(shows(fd, "24 80"));
  EXPECT_TRUE(write_all(fd.get(), "\x1b[8;50;132thello\r"));
  EXPECT_TRUE(shows(fd, "got hello\r\n50 132\r\n"));
  EXPECT_EQ(host_.gone(key(1)).exit_code, 7);
  EXPECT_THAT(contents(directory_ / "logs/1/rank0.log"), HasSubstr("got hello\r\n50 132\r\n"));
  EXPECT_NE(::access((directory_ / "agent/terminals/1.1.0.sock").c_str(), F_OK), 0);
}

TEST_F(TerminalTest, ServesEightAndTheNextOnceOneLeaves) {
  start("while read x; do echo got $x; done");
  host_.running(key(1));
  std::vector<UniqueFd> clients;
  for (std::size_t i = 0; i < Terminal::kClientsMax; ++i) clients.push_back(attach());
  const UniqueFd next = attach();
  EXPECT_TRUE(write_all(clients.front().get(), "one\r"));
  for (const UniqueFd& client : clients) {
    shown_.clear();
    EXPECT_TRUE(shows(client, "got one"));
  }
  char byte = 0;
  EXPECT_EQ(::recv(next.get(), &byte, 1, 0), -1) << "it waits";
  clients.pop_back();
  shown_.clear();
  EXPECT_TRUE(shows(next, "got one"));
}

TEST_F(TerminalTest, ShowsOneThatComesLaterTheEndAlone) {
  start("head -c 100000 /dev/zero | tr '\\0' x; echo; echo the end; read x");
  host_.running(key(1));
  ASSERT_TRUE(host_.until([&] {
    return contents(directory_ / "logs/1/rank0.log").find("the end") != std::string::npos;
  }));
  const UniqueFd fd = attach();
  EXPECT_TRUE(shows(fd, "the end\r\n"));
  EXPECT_EQ(shown_.size(), Terminal::kScrollbackMax);
}

// What it wrote last says why it failed.
TEST_F(TerminalTest, ASlowReaderGetsWhatWasWrittenLast) {
  start("read x; head -c 250000 /dev/zero | tr '\\0' x; echo; echo the last words; exit 3");
  host_.running(key(1));
  const UniqueFd fd = attach();
  ASSERT_EQ(::send(fd.get(), "x\n", 2, 0), 2);
  ASSERT_TRUE(host_.until([&] {
    return contents(directory_ / "logs/1/rank0.log").find("the last words") != std::string::npos;
  }));
  EXPECT_TRUE(shows(fd, "the last words"));
  EXPECT_EQ(host_.gone(key(1)).exit_code, 3);
}

TEST_F(TerminalTest, OutlivesDetachingAndTheAgent) {
  start("while read x; do echo got $x; done; exit 0");
  host_.running(key(1));
  UniqueFd fd = attach();
  EXPECT_TRUE(write_all(fd.get(), "one\r"));
  EXPECT_TRUE(shows(fd, "got one"));
  fd.reset();
  host_.crash();
  TestHost second(directory_.path());
  ASSERT_EQ(second->claims().size(), 1U);
  fd = attach();
  EXPECT_TRUE(write_all(fd.get(), "two\r\x04"));
  EXPECT_EQ(second.gone(key(1)).exit_code, 0);
  EXPECT_THAT(contents(directory_ / "logs/1/rank0.log"), HasSubstr("got two"));
}

}  // namespace
}  // namespace paceline::agent
