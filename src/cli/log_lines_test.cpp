#include "cli/client/log_lines.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "files/fd.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

enum class Where { file, terminal };

// What a console prints, its status line and live rows included.
class Printed {
 public:
  Printed(Where where, LogShow show)
      : fd_(::memfd_create("out", MFD_CLOEXEC)),
        console_({.output_fd = fd_.get(),
                  .error_fd = fd_.get(),
                  .output_terminal = where == Where::terminal,
                  .status_line = where == Where::terminal}),
        lines(console_, show) {}

  [[nodiscard]] std::string text() const {
    std::string text(static_cast<std::size_t>(::lseek(fd_.get(), 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(fd_.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }

 private:
  UniqueFd fd_;
  Console console_;

 public:
  LogLines lines;
};

constexpr LogShow kRun{.name_ranks = false, .newest = true, .reports = false};
constexpr LogShow kRunOfMany{.name_ranks = true, .newest = true, .reports = false};
constexpr std::string_view kReport = R"({"paceline": {"step": 3}})";

TEST(LogLines, AreAsTheyAreUnlessAsked) {
  Printed printed(Where::file, {});
  printed.lines.print(0, "a\r 10%\r 20%");
  EXPECT_EQ(printed.text(), "a\r 10%\r 20%");
}

TEST(LogLines, KeepTheNewestStateOfALine) {
  Printed printed(Where::file, kRun);
  printed.lines.print(0, "start\n\r 10%|#\r");
  printed.lines.print(0, " 20%|##\r");
  EXPECT_EQ(printed.text(), "start\n");
  printed.lines.print(0, "100%|##########\nwindows\r\nend");
  printed.lines.finish();
  EXPECT_EQ(printed.text(), "start\n100%|##########\nwindows\nend");
}

TEST(LogLines, EndALineThatWasWrittenOver) {
  Printed printed(Where::file, kRun);
  printed.lines.print(0, "\r 10%|#\r");
  printed.lines.finish();
  EXPECT_EQ(printed.text(), " 10%|#\n");
}

TEST(LogLines, RepaintInPlaceOnATerminal) {
  Printed printed(Where::terminal, kRun);
  printed.lines.print(0, "\r\x1b[32m 10%\x1b[0m|#\r");
  EXPECT_EQ(printed.text(), " 10%|#");
  printed.lines.print(0, "\r 20%|##\r");
  EXPECT_EQ(printed.text(), " 10%|#\r\x1b[K 20%|##");
  printed.lines.print(0, "\r100%|###\n");
  EXPECT_EQ(printed.text(), " 10%|#\r\x1b[K 20%|##\r\x1b[K100%|###\n 20%|##\r\x1b[K");
}

TEST(LogLines, HaveARowForEachRankThatRepaints) {
  Printed printed(Where::terminal, kRunOfMany);
  printed.lines.print(1, "\r 10%\r");
  printed.lines.print(0, "\r 11%\r");
  EXPECT_THAT(printed.text(), EndsWith("[0]  11%\n[1]  10%"));
  printed.lines.print(0, "\r 20%\r");
  EXPECT_THAT(printed.text(), EndsWith("\r\x1b[K\x1b[A\x1b[K[0]  20%\n[1]  10%"));
  printed.lines.finish();
  EXPECT_THAT(printed.text(), EndsWith("\r\x1b[K\x1b[A\x1b[K[0]  20%\n[1]  10%\n"));
}

TEST(LogLines, HideReports) {
  Printed printed(Where::file, kRun);
  printed.lines.print(0, "a\n" + std::string(kReport) + "\nb " + R"({"paceline": 7})" + "\n");
  EXPECT_EQ(printed.text(), "a\nb {\"paceline\": 7}\n");
  Printed all(Where::file, {.name_ranks = true, .newest = true, .reports = true});
  all.lines.print(2, std::string(kReport) + "\n");
  EXPECT_EQ(all.text(), "[2] " + std::string(kReport) + "\n");
}

// A bar and a report share a line where both go to one file.
TEST(LogLines, KeepTheBarBeforeAHiddenReport) {
  Printed printed(Where::terminal, kRun);
  printed.lines.print(0, "\r 10%|#" + std::string(kReport) + "\n");
  EXPECT_EQ(printed.text(), " 10%|#");
  printed.lines.print(0, "\r 20%|##\r");
  EXPECT_THAT(printed.text(), EndsWith("\r\x1b[K 20%|##"));
  EXPECT_THAT(printed.text(), Not(HasSubstr("paceline")));
}

TEST(LogLines, KeepABarBeforeAReportHoweverTheyCome) {
  const std::string bars =
      "\r 50%|#" + std::string(kReport) + "\n\r100%|##" + std::string(kReport) + "\n\ndone\n";
  for (std::size_t cut = 0; cut <= bars.size(); ++cut) {
    Printed printed(Where::file, kRun);
    printed.lines.print(0, bars.substr(0, cut));
    printed.lines.print(0, bars.substr(cut));
    printed.lines.finish();
    EXPECT_EQ(printed.text(), "100%|##\ndone\n") << "cut at " << cut;
  }
}

TEST(LogLines, TellWhatOthersTookOutOfSight) {
  Printed printed(Where::file, kRunOfMany);
  printed.lines.print(1, "why\nit fails\n");
  EXPECT_THAT(printed.lines.out_of_sight(1), IsEmpty());
  for (int line = 0; line < 9; ++line) printed.lines.print(0, "on and on\n");
  EXPECT_THAT(printed.lines.out_of_sight(1), IsEmpty());
  printed.lines.print(0, "on and on\n");
  EXPECT_THAT(printed.lines.out_of_sight(1), ElementsAre("why", "it fails"));
  EXPECT_THAT(printed.lines.out_of_sight(0), IsEmpty());
  EXPECT_THAT(printed.lines.out_of_sight(7), IsEmpty());
}

}  // namespace
}  // namespace paceline
