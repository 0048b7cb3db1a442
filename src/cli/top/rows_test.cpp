#include "cli/top/rows.hpp"

#include <gtest/gtest.h>

#include "cli/top/pager.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

TEST(RowsOfText, AreCutBetweenWords) {
  EXPECT_EQ(wrapped("  Left  about ten minutes of running", 16),
            (Rows{"  Left  about", "  ten minutes of", "  running"}));
  EXPECT_EQ(wrapped("abcdefghij", 4), (Rows{"abcd", "efgh", "ij"}));
  EXPECT_EQ(wrapped("", 4), Rows{""});
  EXPECT_EQ(wrapped("数据数据", 5), (Rows{"数据", "数据"}));
}

TEST(RowsOfText, KeepTheirStyles) {
  EXPECT_EQ(wrapped("a" + styled("bcd", Style::red) + "e", 2),
            (Rows{"a\x1b[31mb\x1b[0m", "\x1b[31mcd\x1b[0m", "e"}));
  EXPECT_EQ(row_width(styled("数据", Style::bold)), 4U);
  EXPECT_EQ(padded(styled("a", Style::bold), 3), "\x1b[1ma\x1b[0m  ");
}

TEST(RowsOfText, NeverAreWiderThanTheScreen) {
  const std::string line =
      "  数据 " + styled("a long sentence with a wordthatislongerthanthescreen", Style::red);
  for (std::size_t width = 2; width < 80; ++width) {
    for (const auto& row : wrapped(line, width)) EXPECT_LE(row_width(row), width);
    const auto ends = fitted("a text on the left", "right", width);
    EXPECT_EQ(display_width(ends.left + ends.right), width);
  }
}

TEST(ABar, IsAsFullAsItsPart) {
  EXPECT_EQ(bar(0.5, 4), "██··");
  EXPECT_EQ(bar(-1, 2), "··");
  EXPECT_EQ(bar(7, 2), "██");
  EXPECT_EQ(bar(0.999, 4), "███·") << "full only at the end";
}

Rows shown(Pager& pager, std::size_t lines) { return pager.draw({.size = {20, lines}}); }

TEST(APager, FollowsWhatIsAddedUntilOneScrollsUp) {
  Pager pager(Pager::Opens::at_end);
  for (int line = 1; line <= 9; ++line) pager.add(std::to_string(line));
  pager.set_unfinished({"50%"});
  EXPECT_EQ(shown(pager, 3), (Rows{"8", "9", "50%"}));
  pager.press({KeyKind::up});
  EXPECT_FALSE(pager.follows());
  pager.add("10");
  EXPECT_EQ(shown(pager, 3), (Rows{"7", "8", "9"}));
  EXPECT_EQ(pager.position(), "75%");
  pager.press({KeyKind::end});
  pager.add("11");
  EXPECT_EQ(shown(pager, 3), (Rows{"10", "11", "50%"}));
}

TEST(APager, StaysWhereItIsWhenItsTextIsReplaced) {
  Pager pager(Pager::Opens::at_begin);
  pager.set({"a", "b", "c", "d"});
  shown(pager, 2);
  pager.press({KeyKind::down});
  pager.set({"A", "B", "C", "D"});
  EXPECT_EQ(shown(pager, 2), (Rows{"B", "C"}));
}

TEST(APager, ForgetsTheOldestOfVeryManyLines) {
  Pager pager(Pager::Opens::at_end);
  for (int line = 0; line < 10'005; ++line) pager.add(std::to_string(line));
  shown(pager, 2);
  pager.press({KeyKind::home});
  EXPECT_EQ(shown(pager, 2), (Rows{"5", "6"}));
}

}  // namespace
}  // namespace paceline
