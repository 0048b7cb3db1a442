#include "estimate/interference.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

const Shape kTrain{"train", "h100", 2, 1};

TEST(Interference, ComparesWithTheSameShapeAlone) {
  Interference learned;
  learn_beside(learned, kTrain, "prep", 2.0, 1);  // nothing to compare with
  EXPECT_EQ(slow_down(learned, "train", "prep"), 0);
  learn_alone(learned, kTrain, 1.0, 2);
  for (std::uint64_t seq = 3; seq < 6; ++seq) learn_beside(learned, kTrain, "prep", 1.25, seq);
  EXPECT_NEAR(slow_down(learned, "train", "prep"), 0.25, 1e-9);
  EXPECT_NEAR(slow_down(learned, "prep", "train"), 0.25, 1e-9);
  EXPECT_TRUE(knows(learned, "prep"));
  EXPECT_FALSE(knows(learned, "other"));
}

TEST(Interference, WaitsForAFewReportsAndFollowsThem) {
  Interference learned;
  learn_alone(learned, kTrain, 1.0, 1);
  learn_beside(learned, kTrain, "prep", 1.5, 2);
  learn_beside(learned, kTrain, "prep", 1.5, 3);
  EXPECT_EQ(slow_down(learned, "train", "prep"), 0);
  for (std::uint64_t seq = 4; seq < 60; ++seq) learn_beside(learned, kTrain, "prep", 1.0, seq);
  EXPECT_LT(slow_down(learned, "train", "prep"), 0.01);
}

TEST(Interference, ForgetsWhatItHeardOfLongestAgo) {
  Interference learned;
  learn_alone(learned, kTrain, 1.0, 0);
  for (std::uint64_t n = 0; n < 2 * kPairsMax; ++n) {
    learn_beside(learned, kTrain, fmt::format("n{}", n), 2.0, n);
    learn_alone(learned, {fmt::format("n{}", n), "h100", 1, 1}, 1.0, n);
    learn_alone(learned, kTrain, 1.0, n);
  }
  EXPECT_LE(learned.pairs.size(), kPairsMax);
  EXPECT_LE(learned.alone.size(), kShapesMax);
  EXPECT_TRUE(learned.alone.contains(kTrain));
}

}  // namespace
}  // namespace paceline
