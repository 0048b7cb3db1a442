#include "link/frame_lines.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace paceline {
namespace {

class FrameLinesTest : public ::testing::Test {
 protected:
  Result<void> feed(FrameLines& lines, std::string_view bytes) {
    return lines.feed(bytes, [this](std::string_view line) {
      taken_.emplace_back(line);
      return taken_.size() < wanted_;
    });
  }

  std::vector<std::string> taken_;
  std::size_t wanted_ = 100;
};

TEST_F(FrameLinesTest, LinesAreTheSameHoweverTheyAreCut) {
  const std::string text = "one\n\ntwo three\nfour\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    FrameLines lines;
    taken_.clear();
    for (std::size_t at = 0; at < text.size(); at += size)
      ASSERT_TRUE(feed(lines, std::string_view(text).substr(at, size)).has_value());
    EXPECT_EQ(taken_, (std::vector<std::string>{"one", "", "two three", "four"}));
  }
}

TEST_F(FrameLinesTest, ALineWithoutItsEndWaits) {
  FrameLines lines;
  ASSERT_TRUE(feed(lines, "a\nbeg").has_value());
  EXPECT_EQ(taken_, std::vector<std::string>{"a"});
  ASSERT_TRUE(feed(lines, "un\n").has_value());
  EXPECT_EQ(taken_.back(), "begun");
}

TEST_F(FrameLinesTest, ALineHasSoManyBytesAndNoMore) {
  FrameLines lines(4);
  EXPECT_TRUE(feed(lines, "1234\n12").has_value());
  EXPECT_TRUE(feed(lines, "34").has_value());
  const auto over = feed(lines, "5");
  ASSERT_FALSE(over.has_value());
  EXPECT_EQ(over.error().code, ErrorCode::too_large);
  EXPECT_EQ(over.error().message, "A line has over 4 bytes.");
}

TEST_F(FrameLinesTest, ALongLineIsRefusedThoughItsEndIsThere) {
  FrameLines lines(4);
  EXPECT_FALSE(feed(lines, "12345\n").has_value());
  EXPECT_TRUE(taken_.empty());
}

TEST_F(FrameLinesTest, NoLineIsHandedOnThatIsNotWanted) {
  FrameLines lines;
  wanted_ = 2;
  ASSERT_TRUE(feed(lines, "a\nb\nc\n").has_value());
  EXPECT_EQ(taken_.size(), 2U);
}

}  // namespace
}  // namespace paceline
