#include "model/target.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace paceline {
namespace {

TEST(ParseTarget, TakesMetricsThatShowAlone) {
  EXPECT_TRUE(parse_target("pr\xC3\xA4zision>=0.9"));
  for (const char* bad : {"a\x07"
                          "b>=1",
                          "a\xC2\x9B"
                          "b>=1",
                          "a\xE2\x80\xAE"
                          "b>=1"})
    EXPECT_FALSE(parse_target(bad));
}

TEST(ParseTarget, ReadsMetricDirectionAndValue) {
  const Target accuracy{"accuracy", Direction::at_least, 0.95, 0.95};
  EXPECT_EQ(parse_target("accuracy>=0.95"), accuracy);
  EXPECT_EQ(parse_target(" accuracy >= 0.95 "), accuracy);
  EXPECT_EQ(parse_target("loss<=1e-3"), (Target{"loss", Direction::at_most, 1e-3, 1e-3}));
  EXPECT_EQ(parse_target("reward>=-2"), (Target{"reward", Direction::at_least, -2, -2}));
}

TEST(ParseTarget, RefusesEverythingElse) {
  for (const auto* text :
       {"", "accuracy", "accuracy>0.9", "accuracy=0.9", ">=0.9", "accuracy>=", "accuracy>=high",
        "accuracy>=nan", "loss<=inf", "a>=1b", "a>=0.9>=0.8", "accuracy=>0.9"}) {
    const auto target = parse_target(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().message, "'" + std::string(text) + "' is not a target.");
  }
  EXPECT_FALSE(parse_target(std::string(129, 'm') + ">=1"));
}

TEST(ParseTarget, TakesTwoTiersOfOneMetric) {
  EXPECT_EQ(parse_target("accuracy>=0.90", "accuracy>=0.95"),
            (Target{"accuracy", Direction::at_least, 0.90, 0.95}));
  EXPECT_EQ(parse_target("loss<=0.5", "loss<=0.1"), (Target{"loss", Direction::at_most, 0.5, 0.1}));
  EXPECT_FALSE(parse_target("accuracy>=0.90", "loss<=0.1"));
  EXPECT_FALSE(parse_target("loss>=0.90", "loss<=0.1"));
  EXPECT_EQ(parse_target("accuracy>=0.95", "accuracy>=0.90").error().message,
            "The final tier 'accuracy>=0.90' is easier than the deliver tier 'accuracy>=0.95'.");
  EXPECT_FALSE(parse_target("loss<=0.1", "loss<=0.5"));
}

TEST(Target, IsMetAtItsValueAndNeverByNan) {
  const auto up = *parse_target("accuracy>=0.95");
  EXPECT_TRUE(meets(up, up.final, 0.95));
  EXPECT_FALSE(meets(up, up.final, 0.9499));
  EXPECT_FALSE(meets(up, up.final, std::nan("")));
  const auto down = *parse_target("loss<=0.1");
  EXPECT_TRUE(meets(down, down.final, 0.1));
  EXPECT_FALSE(meets(down, down.final, 0.11));
  EXPECT_FALSE(meets(down, down.final, std::nan("")));
}

TEST(Target, IsWrittenAsItIsRead) {
  for (const auto* text : {"accuracy>=0.95", "loss<=0.1"})
    EXPECT_EQ(to_string(*parse_target(text)), text);
  EXPECT_EQ(to_string(*parse_target("accuracy>=0.9", "accuracy>=0.95")), "accuracy>=0.9/0.95");
}

}  // namespace
}  // namespace paceline
