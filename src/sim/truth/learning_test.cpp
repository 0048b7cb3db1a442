#include "sim/truth/learning.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline::sim {
namespace {

LearningCurve curve(std::string_view text) { return parse_learning(text).value(); }

TEST(LearningCurve, HasTheShapesOfTheField) {
  EXPECT_DOUBLE_EQ(curve("exp=2").at(0.5), 1 - std::exp(-1));
  EXPECT_DOUBLE_EQ(curve("power=0.5").at(1), 1 - 1 / std::sqrt(10));
  EXPECT_DOUBLE_EQ(curve("exp=2").at(0), 0);
  EXPECT_DOUBLE_EQ(curve("power=0.5").at(0), 0);
}

TEST(LearningCurve, FollowsATable) {
  const auto measured = curve("table=0.1:0.5,0.5:0.9,1:0.95");
  EXPECT_DOUBLE_EQ(measured.at(0), 0.5);
  EXPECT_DOUBLE_EQ(measured.at(0.1), 0.5);
  EXPECT_DOUBLE_EQ(measured.at(0.3), 0.7);
  EXPECT_DOUBLE_EQ(measured.at(2), 0.95);
}

TEST(LearningCurve, ReadsWhatItWrites) {
  for (const auto* text : {"exp=3", "power=0.25", "table=0:0.1,0.5:0.8,1:0.95"})
    EXPECT_EQ(curve(text).text(), text);
}

TEST(LearningCurve, RefusesWhatDoesNotRise) {
  for (const auto* text : {"", "exp", "exp=0", "exp=-1", "exp=nan", "power=inf", "table=",
                           "table=0:0.5,1:0.4", "table=1:0.1,0.5:0.8", "table=0:0.1,,1:1", "log=2"})
    EXPECT_FALSE(parse_learning(text)) << text;
}

TEST(TargetPart, IsAPartOrARangeOfParts) {
  EXPECT_EQ(parse_target_part("0.7").value(), (TargetPart{0.7, 0.7}));
  EXPECT_EQ(parse_target_part("0.5..0.9").value(), (TargetPart{0.5, 0.9}));
  EXPECT_EQ(parse_target_part("0.5..0.9").value().text(), "0.5..0.9");
  EXPECT_EQ(TargetPart{}.text(), "1");
  for (const auto* text : {"", "0", "1.1", "0.9..0.5", "0.5..", "..0.5", "half"})
    EXPECT_FALSE(parse_target_part(text)) << text;
}

}  // namespace
}  // namespace paceline::sim
