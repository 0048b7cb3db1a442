#include "cli/top/log_text.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

LogNews chunk(std::int64_t rank, std::string text) {
  LogNews news;
  news.chunks.push_back({{"rank", rank}, {"text", std::move(text)}});
  return news;
}

Rows shown(LogText& log) { return log.draw({.size = {40, 10}}); }

TEST(LogText, NamesRanksAndShowsTheNewestStateOfALine) {
  LogText log(true);
  log.told(chunk(0, "one\n10%\r20%"));
  log.told(chunk(1, "two\n"));
  EXPECT_EQ(shown(log), (Rows{"[0] one", "[1] two", "[0] 20%"}));
  log.told(chunk(0, "\r30%\r\ndone"));
  EXPECT_EQ(shown(log), (Rows{"[0] one", "[1] two", "[0] 30%", "[0] done"}));
  EXPECT_EQ(log.ranks(), 2);
}

TEST(LogText, BeginsAnewWhereItIsToldTo) {
  LogText log(false);
  log.told(chunk(0, "one\ntw"));
  auto anew = chunk(0, "three\n");
  anew.anew = true;
  log.told(anew);
  EXPECT_EQ(shown(log), Rows{"three"});
}

TEST(ALineOfALog, MovesNobodysCursor) {
  EXPECT_EQ(shown_line("\x1b[31mred\x1b[0m\x1b]0;title\a \x1b[2J\x1b"
                       "7x"),
            "red x");
  EXPECT_EQ(shown_line("a\tb\x07\x9b"), "a       b \xEF\xBF\xBD");
  EXPECT_EQ(shown_line("bad \xff utf8\u202e"), "bad \xEF\xBF\xBD utf8 ");
  EXPECT_EQ(shown_line("\x1b["), "");
  const auto cut = shown_line(std::string(10'000, 'x'));
  EXPECT_EQ(cut, std::string(4096, 'x') + "…");
}

}  // namespace
}  // namespace paceline
