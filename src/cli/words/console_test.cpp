#include "cli/words/console.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "cli/words/output.hpp"
#include "files/fd.hpp"

namespace paceline {
namespace {

using ::testing::HasSubstr;

// Both ends of a pipe; what was written is read at once.
struct Pipe {
  Pipe() {
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe2(fds.data(), O_CLOEXEC | O_NONBLOCK), 0);
    out = UniqueFd(fds[0]);
    in = UniqueFd(fds[1]);
  }
  std::string text() const {
    std::array<char, 4096> bytes{};
    const auto size = ::read(out.get(), bytes.data(), bytes.size());
    return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }
  UniqueFd out, in;
};

TEST(Console, EndsQuietlyWhenTheReaderLeft) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe output, errors;
  Console console({.output_fd = output.in.get(), .error_fd = errors.in.get()});
  output.out = UniqueFd();
  Pipe{};
  console.print("a line\n");
  EXPECT_TRUE(console.broken());
  EXPECT_EQ(console.finish(3), 0);
  EXPECT_EQ(errors.text(), "");
}

TEST(Console, ComplainsOnceAboutAFullDisk) {
  const Pipe errors;
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  Console console({.output_fd = full.get(), .error_fd = errors.in.get()});
  console.print("a\n");
  console.print("b\n");
  EXPECT_EQ(console.finish(0), 74);
  EXPECT_EQ(errors.text(),
            "paceline: The output can't be written: No space left on device.\n"
            "          Make room, or send it elsewhere.\n");
}

TEST(Console, KeepsTheStatusLineBelowTheOutput) {
  const Pipe both;
  Console console({.output_fd = both.in.get(), .error_fd = both.in.get(), .status_line = true});
  console.status("job 7  RUNNING");
  console.print("epoch 1\n");
  console.status("job 7  RUNNING");
  console.note("A note.");
  EXPECT_EQ(console.finish(0), 0);
  EXPECT_EQ(both.text(),
            "\r\x1b[Kjob 7  RUNNING"
            "\r\x1b[Kepoch 1\njob 7  RUNNING"
            "\r\x1b[Kpaceline: A note.\njob 7  RUNNING"
            "\r\x1b[K");
}

TEST(Console, KeepsLiveRowsAboveTheStatusLine) {
  const Pipe both;
  Console console({.output_fd = both.in.get(), .error_fd = both.in.get(), .status_line = true});
  console.status("job 7");
  console.live({"10%", "11%"});
  EXPECT_EQ(both.text(), "\r\x1b[Kjob 7\r\x1b[K10%\n11%\njob 7");
  console.print("epoch 1\n");
  constexpr auto kAway = "\r\x1b[K\x1b[A\x1b[K\x1b[A\x1b[K";
  EXPECT_EQ(both.text(), std::string(kAway) + "epoch 1\n10%\n11%\njob 7");
  console.live({});
  EXPECT_EQ(both.text(), std::string(kAway) + "job 7");
}

// Standard error goes elsewhere: progress stays on the terminal.
TEST(Console, ShowsLiveRowsOnATerminalAlone) {
  const Pipe output, errors;
  Console console(
      {.output_fd = output.in.get(), .error_fd = errors.in.get(), .output_terminal = true});
  console.live({std::string(200, 'x')});
  EXPECT_EQ(output.text(), std::string(78, 'x') + "…");
  console.note("A note.");
  EXPECT_EQ(errors.text(), "paceline: A note.\n");
  EXPECT_EQ(output.text(), "\r\x1b[K" + std::string(78, 'x') + "…");
}

TEST(Console, SaysNothingOfStatusWithoutATerminal) {
  const Pipe errors;
  Console console({.output_fd = -1, .error_fd = errors.in.get()});
  console.status("job 7  RUNNING");
  EXPECT_EQ(errors.text(), "");
}

TEST(Console, RespectsNoColor) {
  EXPECT_EQ(Console({.output_terminal = true, .color = true}).paint("x", Style::red),
            "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Console({.output_terminal = true}).paint("x", Style::red), "x");
  EXPECT_FALSE(Console::of_process({{"TERM", "xterm"}, {"NO_COLOR", "1"}}).look().color);
  EXPECT_FALSE(Console::of_process({{"TERM", "dumb"}}).look().color);
}

TEST(ReadOutput, KnowsItsFormats) {
  EXPECT_EQ(read_output({.format = "json"})->format, Format::json);
  EXPECT_EQ(read_output({.format = "wide"})->format, Format::wide);
  EXPECT_EQ(read_output({.format = "name"})->format, Format::name);
  EXPECT_EQ(read_output({})->format, Format::table);
  EXPECT_EQ(read_output({.interval = "500ms"})->interval, Duration(std::chrono::milliseconds{500}));
  EXPECT_THAT(read_output({.format = "yaml"}).error().message, HasSubstr("'yaml' is not a format"));
  EXPECT_THAT(read_output({.interval = "5"}).error().message, HasSubstr("--interval: '5'"));
}

}  // namespace
}  // namespace paceline
