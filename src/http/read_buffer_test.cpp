#include "http/read_buffer.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(ReadBuffer, IsLargeWhileMuchComes) {
  ReadBuffer buffer;
  EXPECT_EQ(buffer.room().size(), ReadBuffer::kSmallBytes);
  buffer.took(ReadBuffer::kSmallBytes - 1);
  EXPECT_EQ(buffer.room().size(), ReadBuffer::kSmallBytes) << "there was room left";
  buffer.took(ReadBuffer::kSmallBytes);
  EXPECT_EQ(buffer.room().size(), ReadBuffer::kLargeBytes) << "it was filled";
  buffer.took(ReadBuffer::kSmallBytes);
  EXPECT_EQ(buffer.room().size(), ReadBuffer::kLargeBytes) << "as much comes again";
  buffer.took(0);
  EXPECT_EQ(buffer.room().size(), ReadBuffer::kSmallBytes) << "it has ebbed away";
}

TEST(ReadBuffer, AnswersWhatARecentReadBrought) {
  ReadBuffer buffer;
  const auto room = buffer.room();
  static_cast<char*>(room.data())[0] = 'x';
  static_cast<char*>(room.data())[1] = 'y';
  EXPECT_EQ(buffer.took(2), "xy");
}

}  // namespace
}  // namespace paceline
