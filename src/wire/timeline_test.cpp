#include "wire/timeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using ::testing::HasSubstr;

TimelinePiece piece() {
  TimelinePiece piece;
  piece.pid = 4711;
  piece.rank = 1;
  piece.size = 4;
  piece.generation = 3;
  piece.offset_us = -120;
  piece.uncertainty_us = 35;
  piece.wall_us = 1'763'636'100'000'000;
  piece.from_us = 8'123'456;
  piece.at_us = 1'002'000;
  piece.open = {{"evaluation", 57, 1'000'900, 0}, {"others", 57, 1'001'000, 0}};
  piece.spans = {{"data", 57, 0, 1'000}, {"compute", 57, 1'000, 999'000}};
  piece.beside = {{"write", 40, 200, 90'000}};
  return piece;
}

constexpr auto kBody = R"({"pid": 4711, "rank": 1, "size": 4, "generation": 3,
  "clock": {"offset_us": -120, "uncertainty_us": 35, "wall_us": 1763636100000000},
  "from_us": 8123456, "at_us": 1002000, "ended": false,
  "open": [["evaluation", 57, 1000900], ["others", 57, 1001000]],
  "spans": [["data", 57, 0, 1000], ["compute", 57, 1000, 999000]], "beside": [["write", 40, 200, 90000]]})";

TEST(Timeline, IsReadAsTheWorkerSaysIt) {
  const auto read = parse_timeline(kBody);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, piece());
}

TEST(Timeline, IsKeptInLinesThatSayWhoseTheyAre) {
  auto kept = piece();
  kept.attempt = 2;
  kept.born = 1;
  kept.node = "gpu-3";
  const auto line = timeline_line(kept);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto read = parse_timeline_line(line);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kept);
  EXPECT_FALSE(parse_timeline(line)) << "no worker says so of itself";
}

TEST(Timeline, RefusesWithASentenceWhatIsNone) {
  const std::string place = R"({"rank": 0, "size": 1, "generation": 1, "from_us": 0)";
  const std::pair<std::string, std::string> bad[] = {
      {"spans", "JSON"},
      {"[]", "timeline"},
      {R"({"size": 1})", "'rank'"},
      {place + R"(, "spans": {}})", "'spans' in timeline must be a list of [name, step"},
      {place + R"(, "spans": [["compute", 1, 0]]})", "'spans'"},
      {place + R"(, "spans": [["", 1, 0, 5]]})", "a name of 1 to 32 bytes"},
      {place + R"(, "spans": [["compute", -1, 0, 5]]})", "whole numbers"},
      {place + R"(, "spans": [["compute", 1, 0, -5]]})", "whole numbers"},
      {place + R"(, "spans": [["compute", 1, 0, 18446744073709551615]]})", "whole numbers"},
      {place + R"(, "beside": [["write", 1, 0.5, 5]]})", "'beside'"},
      {place + R"(, "open": [["compute", 1, 0, 5]]})", "'open' in timeline"},
      {place + R"(, "clock": {"offset_us": "late"}})", "'offset_us' in clock"},
      {place + R"(, "attempt": 3})", "attempt"},
      {place + "}" + std::string(kTimelineBytesMax, ' '), "may have 65536 bytes"}};
  for (const auto& [body, sentence] : bad) {
    const auto read = parse_timeline(body);
    ASSERT_FALSE(read) << body.substr(0, 100);
    EXPECT_THAT(read.error().message, HasSubstr(sentence)) << body.substr(0, 100);
  }
}

}  // namespace
}  // namespace paceline
