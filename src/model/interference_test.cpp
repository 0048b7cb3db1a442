#include "model/interference.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

const Shape kTrain{"train", "h100", 2, 1};

TEST(Interference, ComparesWithTheSameShapeAlone) {
  Interference learned;
  learned.ran_beside(kTrain, "prep", 2.0, 1);  // nothing to compare with
  EXPECT_EQ(learned.slow_down("train", "prep"), 0);
  learned.ran_alone(kTrain, 1.0, 2);
  for (std::uint64_t seq = 3; seq < 6; ++seq) learned.ran_beside(kTrain, "prep", 1.25, seq);
  EXPECT_NEAR(learned.slow_down("train", "prep"), 0.25, 1e-9);
  EXPECT_NEAR(learned.slow_down("prep", "train"), 0.25, 1e-9);
  EXPECT_TRUE(learned.knows("prep"));
  EXPECT_FALSE(learned.knows("other"));
}

TEST(Interference, WaitsForAFewReportsAndFollowsThem) {
  Interference learned;
  learned.ran_alone(kTrain, 1.0, 1);
  learned.ran_beside(kTrain, "prep", 1.5, 2);
  learned.ran_beside(kTrain, "prep", 1.5, 3);
  EXPECT_EQ(learned.slow_down("train", "prep"), 0);
  for (std::uint64_t seq = 4; seq < 60; ++seq) learned.ran_beside(kTrain, "prep", 1.0, seq);
  EXPECT_LT(learned.slow_down("train", "prep"), 0.01);
}

TEST(Interference, ForgetsWhatItHeardOfLongestAgo) {
  Interference learned;
  learned.ran_alone(kTrain, 1.0, 0);
  for (std::uint64_t n = 0; n < 2 * Interference::kPairsMax; ++n) {
    learned.ran_beside(kTrain, fmt::format("n{}", n), 2.0, n);
    learned.ran_alone({fmt::format("n{}", n), "h100", 1, 1}, 1.0, n);
    learned.ran_alone(kTrain, 1.0, n);
  }
  EXPECT_LE(learned.pairs.size(), Interference::kPairsMax);
  EXPECT_LE(learned.alone.size(), Interference::kShapesMax);
  EXPECT_TRUE(learned.alone.contains(kTrain));
}

}  // namespace
}  // namespace paceline
