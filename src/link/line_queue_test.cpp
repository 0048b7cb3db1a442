#include "link/line_queue.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

std::string drained(LineQueue& queue, std::size_t step) {
  std::string all;
  while (!queue.empty()) {
    const auto piece = queue.next().substr(0, step);
    all += piece;
    queue.sent(piece.size());
  }
  return all;
}

TEST(LineQueue, LinesLeaveInOrderHoweverFewBytesGoAtATime) {
  for (std::size_t step = 1; step < 8; ++step) {
    LineQueue queue(100);
    for (const char* line : {"one", "", "three"}) ASSERT_TRUE(queue.push(line));
    EXPECT_EQ(drained(queue, step), "one\n\nthree\n");
    EXPECT_TRUE(queue.next().empty());
  }
}

TEST(LineQueue, HoldsSoManyBytesThatAreNotSent) {
  LineQueue queue(8);
  EXPECT_TRUE(queue.push("123"));
  EXPECT_TRUE(queue.push("567"));
  EXPECT_FALSE(queue.push(""));
  queue.sent(1);
  EXPECT_TRUE(queue.push(""));
  EXPECT_FALSE(queue.push(""));
  EXPECT_EQ(drained(queue, 100), "23\n567\n\n");
  EXPECT_TRUE(queue.push("1234567"));
}

TEST(LineQueue, OnceClearedHoldsNothing) {
  LineQueue queue(4);
  ASSERT_TRUE(queue.push("123"));
  queue.sent(2);
  queue.clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.push("abc"));
  EXPECT_EQ(queue.next(), "abc\n");
}

}  // namespace
}  // namespace paceline
