#include "link/bytes_lines.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace paceline {
namespace {

using ::testing::HasSubstr;

const LogName kThatLog{JobId{7}, 3};

std::string_view without_newline(std::string_view line) {
  EXPECT_TRUE(line.ends_with('\n'));
  return line.substr(0, line.size() - 1);
}

TEST(BytesLines, OfANodeAreReadAsTheyWereWritten) {
  const std::vector<NodeLine> lines{
      BytesHello{1, "a1b2", wall_from_us(1'700'000'000'123'456)},
      TicketShown{"secret"},
      LogAsked{kThatLog},
      PieceHead{kThatLog, 10, 4096, 256 << 10, wall_from_us(1'700'000'000'000'001), true},
      LogsWhole{JobId{7}},
      NoDoor{"secret", "nobody listens there"},
      ShipWanted{JobId{7}, std::string(64, 'a'), 4096},
      ShipDamaged{JobId{7}, std::string(64, '0')},
  };
  for (const auto& line : lines) {
    const auto text = encode(line);
    const auto read = decode_node_line(without_newline(text));
    ASSERT_TRUE(read.has_value()) << text << read.error().message;
    EXPECT_EQ(*read, line) << text;
  }
}

TEST(BytesLines, OfAServerAreReadAsTheyWereWritten) {
  const std::vector<ServerLine> lines{
      BytesWelcome{},
      LogStanding{kThatLog, 12, LogState::taken, false},
      LogStanding{kThatLog, 0, LogState::later, false},
      LogStanding{kThatLog, 1ULL << 40, LogState::unwanted, true},
      FlushAsked{JobId{7}},
      DoorAsked{{JobId{7}, Generation{2}, 0}, "secret"},
      DoorAsked{{JobId{7}, Generation{2}, 0}, "secret", WorkerDoor::stacks},
      ShipPart{JobId{7}, std::string(64, 'a'), 4096, 256 << 10, 1 << 30},
      NoShipPart{JobId{7}, std::string(64, 'a'), "Gone.", "Submit again."},
      BytesRefused{{ErrorCode::conflict, "Two \"nodes\".", "Do this.\n", Retry::useless}},
  };
  for (const auto& line : lines) {
    const auto text = encode(line);
    const auto read = decode_server_line(without_newline(text));
    ASSERT_TRUE(read.has_value()) << text << read.error().message;
    EXPECT_EQ(*read, line) << text;
  }
}

TEST(BytesLines, RefuseWhatCannotBeMeant) {
  for (
      const char* line : {
          "hello",
          "[]",
          "{}",
          R"({"hello":{}})",
          R"({"what":{}})",
          R"({"ask":{},"ask2":{}})",
          R"({"ask":{"job":0,"number":0}})",
          R"({"ask":{"job":1,"number":-1}})",
          R"({"ask":{"job":"../../etc","number":0}})",
          R"({"ask":{"job":4294967296,"number":0}})",
          R"({"ask":{"job":1,"number":0,"path":"/etc/passwd"}})",
          R"({"piece":{"job":1,"number":0,"from":9,"offset":8,"bytes":1,"at":1,"anew":false}})",
          R"({"piece":{"job":1,"number":0,"from":0,"offset":0,"bytes":262145,"at":1,"anew":false}})",
          R"({"piece":{"job":1,"number":0,"from":0,"offset":0,"bytes":-1,"at":1,"anew":false}})",
          R"({"piece":{"job":1,"number":0,"from":0,"offset":0,"bytes":1,"at":-1,"anew":false}})",
          R"({"piece":{"job":1,"number":0,"from":0,"offset":9223372036854775807,"bytes":1,"at":1,"anew":false}})",
          R"({"piece":{"job":1,"number":0,"from":0,"offset":18446744073709551615,"bytes":0,"at":1,"anew":false}})",
          R"({"piece":{"job":1,"number":0,"offset":0,"bytes":1,"at":1,"anew":false}})",
      })
    EXPECT_FALSE(decode_node_line(line).has_value()) << line;
  EXPECT_FALSE(decode_server_line(
      R"({"standing":{"job":1,"number":0,"taken":0,"state":"soon","over":false}})"));
  EXPECT_FALSE(decode_node_line(std::string(kBytesLineMax + 1, ' ')).has_value());
}

TEST(BytesReader, FindsLinesAndBytesWhereverTheyAreCut) {
  const std::string all = "first\n\nraw\nbytes|second\nrest";
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    BytesReader reader;
    std::string line, bytes;
    std::vector<std::string> seen;
    const auto look = [&] {
      while ((seen.size() < 2 || seen.size() == 3) && *reader.next_line(line)) seen.push_back(line);
      if (seen.size() == 2 && reader.next_bytes(10, bytes)) seen.push_back(bytes);
      while ((seen.size() == 3) && *reader.next_line(line)) seen.push_back(line);
    };
    reader.feed(all.substr(0, cut));
    look();
    reader.feed(all.substr(cut));
    look();
    EXPECT_EQ(seen, (std::vector<std::string>{"first", "", "raw\nbytes|", "second"})) << cut;
    EXPECT_EQ(reader.rest(), "rest");
    EXPECT_EQ(reader.rest(), "");
  }
}

TEST(BytesReader, RefusesALineWithoutEnd) {
  BytesReader reader;
  std::string line;
  for (int i = 0; i < 64; ++i) {
    reader.feed(std::string(1024, 'x'));
    ASSERT_FALSE(reader.next_line(line).value());
  }
  reader.feed("x");
  const auto found = reader.next_line(line);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::too_large);
  EXPECT_THAT(found.error().message, HasSubstr("too long"));
}

}  // namespace
}  // namespace paceline
