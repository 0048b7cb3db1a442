#include "http/server_events.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace paceline {
namespace {

std::vector<ServerEvent> drain(ServerEventParser& parser) {
  std::vector<ServerEvent> events;
  while (auto event = parser.next()) events.push_back(std::move(*event));
  return events;
}

TEST(ServerEvents, AreReadAsTheStandardSays) {
  ServerEventParser parser;
  parser.feed(
      ": a comment\n\nevent: chunk\r\nid: 12\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nid: "
      "13\n\ndata\n\n");
  EXPECT_EQ(drain(parser),
            (std::vector<ServerEvent>{{"chunk", "{\"a\":\n1}", "12"}, {"message", "", "13"}}));
  EXPECT_EQ(parser.unread(), 0U);
}

TEST(ServerEvents, WaitForTheirEnd) {
  ServerEventParser parser;
  parser.feed("data: half");
  EXPECT_FALSE(parser.next());
  parser.feed(" and half\n");
  EXPECT_FALSE(parser.next());
  EXPECT_GT(parser.unread(), 0U);
  parser.feed("\n");
  EXPECT_EQ(parser.next()->data, "half and half");
}

RC_GTEST_PROP(ServerEvents, DoNotDependOnHowTheyArrive, (const std::vector<std::uint8_t>& cuts)) {
  const std::string text = "event: end\ndata: 1\n\n: x\nid: 5\ndata: 2\ndata: 3\n\ndata: 4\n\n";
  ServerEventParser whole, pieces;
  whole.feed(text);
  std::vector<ServerEvent> events;
  std::size_t at = 0;
  for (const auto cut : cuts) {
    const auto size = std::min<std::size_t>(cut % 7, text.size() - at);
    pieces.feed(std::string_view(text).substr(at, size));
    at += size;
    for (auto& event : drain(pieces)) events.push_back(std::move(event));
  }
  pieces.feed(std::string_view(text).substr(at));
  for (auto& event : drain(pieces)) events.push_back(std::move(event));
  RC_ASSERT(events == drain(whole));
}

}  // namespace
}  // namespace paceline
