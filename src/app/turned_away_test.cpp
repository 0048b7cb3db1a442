#include "app/turned_away.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "clock/manual/manual_clock.hpp"

namespace paceline {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class TurnedAwayTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  std::vector<std::string> lines_;
  TurnedAway turned_away_{clock_, [this](const std::string& line) { lines_.push_back(line); }};
};

TEST_F(TurnedAwayTest, WhatAnAddressWasToldIsThereOnce) {
  for (int i = 0; i < 1000; ++i) turned_away_.note("10.0.0.7", "This join token was used up.");
  turned_away_.note("10.0.0.7", "It expired.");
  turned_away_.note("10.0.0.8", "It expired.");
  EXPECT_THAT(lines_, ElementsAre("10.0.0.7 is turned away: This join token was used up.",
                                  "10.0.0.7 is turned away: It expired.",
                                  "10.0.0.8 is turned away: It expired."));
  clock_.advance(TurnedAway::kAgainAfter);
  turned_away_.note("10.0.0.8", "It expired.");
  EXPECT_EQ(lines_.size(), 4U);
}

TEST_F(TurnedAwayTest, HoweverManyKnockTheLogStaysReadable) {
  for (int i = 0; i < 1000; ++i) turned_away_.note(fmt::format("10.0.0.{}", i), "It expired.");
  EXPECT_EQ(lines_.size(), TurnedAway::kLinesAMinute);
  clock_.advance(1min);
  turned_away_.note("10.1.1.1", "It expired.");
  EXPECT_EQ(lines_.back(), "10.1.1.1 is turned away: It expired. (So were 990 others before.)");
}

TEST_F(TurnedAwayTest, WhatStrangersSayMakesNoLineOfItsOwn) {
  turned_away_.note("10.0.0.7", "Bad.\n2026-01-01 root: all is well");
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_EQ(lines_[0].find('\n'), std::string::npos);
}

}  // namespace
}  // namespace paceline
