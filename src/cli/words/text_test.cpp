#include "cli/words/text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.hpp"

namespace paceline {
namespace {

TEST(HumanDuration, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(human_duration(-3), "0s");
  EXPECT_EQ(human_duration(0.9), "0s");
  EXPECT_EQ(human_duration(59.9), "59s");
  EXPECT_EQ(human_duration(65), "1m05s");
  EXPECT_EQ(human_duration(7500), "2h05m");
  EXPECT_EQ(human_duration(273600), "3d04h");
}

TEST(HumanBytes, ShowsOneUnit) {
  EXPECT_EQ(human_bytes(0), "0B");
  EXPECT_EQ(human_bytes(512ULL << 20), "512M");
  EXPECT_EQ(human_bytes(3ULL << 29), "1.5G");
  EXPECT_EQ(human_bytes(80ULL << 30), "80G");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16E");
}

TEST(HumanNumbers, AreShort) {
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(60000), "60,000");
  EXPECT_EQ(human_count(1234567), "1,234,567");
  EXPECT_EQ(human_number(0.951234), "0.9512");
  EXPECT_EQ(human_number(0.0000123), "1.23e-05");
  EXPECT_EQ(plural(1, "job"), "1 job");
  EXPECT_EQ(plural(0, "job"), "0 jobs");
  EXPECT_EQ(plural(1, "entry"), "1 entry");
  EXPECT_EQ(plural(41, "entry"), "41 entries");
  EXPECT_EQ(listed({"5", "7", "9"}), "5, 7 and 9");
}

TEST(CommandLine, IsAsAShellTakesIt) {
  EXPECT_EQ(command_line({}), "paceline");
  EXPECT_EQ(command_line({"drain", "gpu-7", "--by", "18:00", "--reason", "a \"new\" $disk", ""}),
            "paceline drain gpu-7 --by 18:00 --reason \"a \\\"new\\\" \\$disk\" \"\"");
}

TEST(UtcTime, IsExactToTheSecond) { EXPECT_EQ(utc_time(1763661600.9), "2025-11-20T18:00:00Z"); }

TEST(HumanTime, LeavesTodaysDateOut) {
  EXPECT_EQ(human_time(1763636101, 1763650000), "10:55:01");
  EXPECT_EQ(human_time(1763636101, 1763750000), "2025-11-20 10:55:01");
}

TEST(DisplayWidth, CountsColumns) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("0.91→0.95"), 9U);
  EXPECT_EQ(display_width("e\xCC\x81"), 1U);     // e with a combining accent
  EXPECT_EQ(display_width("\xE5\xB7\xA5"), 2U);  // 工
  EXPECT_EQ(cut_to_width("waits for slots", 9), "waits fo…");
  EXPECT_EQ(cut_to_width("waits for slots", 7), "waits…");
  EXPECT_EQ(cut_to_width("工工工", 4), "工…");
  EXPECT_EQ(cut_to_width("工", 1), "…");
}

TEST(Printable, KeepsTheCursorWhereItIs) {
  EXPECT_EQ(printable("a\x1b[2Jb\n"), "a [2Jb ");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            " 31m");  // the one-byte CSI of C1
  EXPECT_EQ(printable("\xff"), "\xEF\xBF\xBD");
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b\xE2\x81\xA9"),
            "a b ");
}

RC_GTEST_PROP(CutToWidth, NeverExceedsIt, (const std::string& bytes)) {
  const auto text = printable(bytes);
  const auto width = *rc::gen::inRange<std::size_t>(1, 20);
  const auto cut = cut_to_width(text, width);
  RC_ASSERT(display_width(cut) <= width);
  RC_ASSERT(is_utf8(cut));
}

}  // namespace
}  // namespace paceline
