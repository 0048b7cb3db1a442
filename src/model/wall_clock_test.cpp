#include "model/wall_clock.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

Time at(int second) { return time_from_us(0) + seconds{second}; }

TEST(ClockMarks, LabelWhatHappenedAsTheClockShowedIt) {
  ClockMarks marks;
  EXPECT_EQ(ahead_at(marks, at(5)), Duration{});
  set_ahead(marks, at(10), hours{3});
  set_ahead(marks, at(20), -hours{1});
  EXPECT_EQ(shown(marks, at(9)), wall_from_us(9'000'000));
  EXPECT_EQ(shown(marks, at(10)), wall_from_us(10'000'000) + hours{3});
  EXPECT_EQ(shown(marks, at(19)), wall_from_us(19'000'000) + hours{3});
  EXPECT_EQ(shown(marks, at(50)), wall_from_us(50'000'000) + hours{2});
}

TEST(ClockMarks, OneMomentHasOneMark) {
  ClockMarks marks;
  set_ahead(marks, at(10), hours{3});
  set_ahead(marks, at(10), hours{4});
  EXPECT_EQ(marks, (ClockMarks{{at(10), hours{7}}}));
}

TEST(ClockMarks, TheOldestIsForgottenBeyondTheBound) {
  ClockMarks marks;
  for (int i = 1; i <= static_cast<int>(kClockMarksMax) + 1; ++i)
    set_ahead(marks, at(i), seconds{1});
  EXPECT_EQ(marks.size(), kClockMarksMax);
  EXPECT_EQ(ahead_at(marks, at(0)), seconds{2});
  EXPECT_EQ(ahead_at(marks, at(2)), seconds{2});
  EXPECT_EQ(ahead_at(marks, at(3)), seconds{3});
}

}  // namespace
}  // namespace paceline
