#include "cli/words/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/words/text.hpp"

namespace paceline {
namespace {

Table sample() {
  Table table({{"ID", Align::right}, {"NAME", Align::left, 4}, {"REASON", Align::left, 12}});
  table.add({{"7"}, {"digits"}, {"waits for 4 free slots; 1 is free now"}});
  table.add({{"12", Style::green}, {"a\tb"}, {""}});
  return table;
}

TEST(Table, AlignsItsColumns) {
  EXPECT_EQ(sample().render({}),
            "ID  NAME    REASON\n"
            " 7  digits  waits for 4 free slots; 1 is free now\n"
            "12  a b\n");
}

TEST(Table, CutsItsWidestColumnsToTheTerminal) {
  EXPECT_EQ(sample().render({.header = false, .color = false, .width = 30}),
            " 7  digits  waits for 4 free…\n"
            "12  a b\n");
}

TEST(Table, LeavesOutColumnsWhereNarrowestOnesDoNotFit) {
  Table table({{"ID", Align::right},
               {"NODE", Align::left, 0, 2},
               {"METRIC", Align::left, 0, 1},
               {"START", Align::left, 0, 3},
               {"REASON", Align::left, 6, 4}});
  table.add({{"7"}, {"n0"}, {"0.91 accuracy"}, {"-"}, {"waits for 4 free slots"}});
  const auto shown = [&](std::size_t width) {
    return table.render({.header = true, .color = false, .width = width});
  };
  EXPECT_EQ(shown(40),
            "ID  NODE  METRIC         START  REASON\n"
            " 7  n0    0.91 accuracy  -      waits f…\n");
  EXPECT_EQ(shown(36),
            "ID  NODE  METRIC         REASON\n"
            " 7  n0    0.91 accuracy  waits for…\n");
  EXPECT_EQ(shown(20),
            "ID  NODE  REASON\n"
            " 7  n0    waits for…\n");
  EXPECT_EQ(shown(12),
            "ID  REASON\n"
            " 7  waits f…\n");
  EXPECT_EQ(shown(3), "ID\n 7\n");
  EXPECT_EQ(shown(1), "…\n7\n");
}

TEST(Table, KeepsAColumnAsWideAsItUsuallyIs) {
  Table table({{"ID", Align::right, 0, 0, 4}, {"NODE", Align::left, 0, 1, 5}, {"NAME"}});
  table.add({{"7"}, {"-"}, {"digits"}});
  EXPECT_EQ(table.render({.header = false, .color = false, .width = 30}), "   7  -      digits\n");
  EXPECT_EQ(table.widths(), (std::vector<std::size_t>{1, 1, 6}));
}

// For any width: no line is wider.
TEST(Table, NeverWraps) {
  for (std::size_t width = 1; width < 60; ++width) {
    std::istringstream lines(sample().render({.header = true, .color = false, .width = width}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width);
  }
}

TEST(Table, ColoursWordsAndNotThePadding) {
  EXPECT_EQ(sample().render({.header = true, .color = true, .width = {}}),
            "\x1b[2mID\x1b[0m  \x1b[2mNAME\x1b[0m    \x1b[2mREASON\x1b[0m\n"
            " 7  digits  waits for 4 free slots; 1 is free now\n"
            "\x1b[32m12\x1b[0m  a b\n");
}

}  // namespace
}  // namespace paceline
