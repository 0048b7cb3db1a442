#include "cli/words/table.hpp"

#include <gtest/gtest.h>

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
  EXPECT_EQ(sample().render({.header = false, .color = false, .width = 5}),
            " 7  dig…  waits for 4…\n"
            "12  a b\n");
}

TEST(Table, ColoursWordsAndNotThePadding) {
  EXPECT_EQ(sample().render({.header = true, .color = true, .width = {}}),
            "\x1b[2mID\x1b[0m  \x1b[2mNAME\x1b[0m    \x1b[2mREASON\x1b[0m\n"
            " 7  digits  waits for 4 free slots; 1 is free now\n"
            "\x1b[32m12\x1b[0m  a b\n");
}

}  // namespace
}  // namespace paceline
