#include "sim/truth/training.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sim/truth/training_testing.hpp"

namespace paceline::sim {
namespace {

using std::chrono::seconds;

constexpr TrainingOptions kFixed{BatchRule::fixed, 4, 8};
constexpr TrainingOptions kScaled{BatchRule::scaled, 4, 8};

double speed_on(const Training& training, const std::vector<std::int32_t>& gang) {
  const auto stretches = training.stretches(gang);
  EXPECT_EQ(stretches.size(), 1U);
  return stretches.front().speed;
}

// Batch 40: 4 s alone, 1 s on 4 replicas, 0.5 s + 0.5 s on 8.
TEST(Training, OfAFixedBatchIsAsFastAsItsSteps) {
  const Profile profile = toy();
  const Training training(profile, {4, 40}, kFixed);
  EXPECT_DOUBLE_EQ(speed_on(training, {4}), 1);
  EXPECT_DOUBLE_EQ(speed_on(training, {1}), 0.25);
  EXPECT_DOUBLE_EQ(speed_on(training, {4, 4}), 1);
  EXPECT_DOUBLE_EQ(speed_on(training, {2, 2}), 1 / 1.5) << "the same size, spread";
  EXPECT_DOUBLE_EQ(training.speedup().of(4), 4);
  EXPECT_DOUBLE_EQ(training.speedup().of(8), 4);
  EXPECT_DOUBLE_EQ(training.speedup().of(2), 2);
}

// On 8 replicas the batch is 80: 1 s + 0.5 s for twice the samples, so 4/3 as many a second. A sample of
// 80 is worth (φ + 40) / (φ + 80) of one of 40: 5/9 in the first half, 13/17 in the second.
TEST(Training, OfAScaledBatchHasTheGoodputOfItsProgress) {
  const Profile profile = toy();
  const Training training(profile, {4, 40}, kScaled);
  const auto stretches = training.stretches(std::vector<std::int32_t>{4, 4});
  ASSERT_EQ(stretches.size(), 2U);
  // At the wanted size a step gains 4 (φ + 10) / (φ + 40): 1.6 and 40/13 reference steps.
  const double first = 100 / 1.6, second = 100 * 13 / 40.0;
  EXPECT_DOUBLE_EQ(stretches[0].until, first / (first + second));
  EXPECT_DOUBLE_EQ(stretches[1].until, 1);
  EXPECT_DOUBLE_EQ(stretches[0].speed, 4 / 3.0 * 5 / 9);
  EXPECT_DOUBLE_EQ(stretches[1].speed, 4 / 3.0 * 13 / 17);
  EXPECT_DOUBLE_EQ(speed_on(training, {4}), 1);
}

TEST(Training, AtAnotherSizeTakesAsLongAsItsBatchWould) {
  const Profile profile = toy();
  const Training training(profile, {4, 40}, kScaled);
  const double length = to_seconds(training_time(profile, packed(4, 4), 40));
  const std::vector<std::int32_t> larger{4, 4};
  const Pace pace = training.pace(larger, from_seconds(length), 1);
  EXPECT_NEAR(pace.us_for(length * 1e6, 0) * 1e-6, to_seconds(training_time(profile, larger, 80)),
              1e-5);
  EXPECT_NEAR(training.speedup().of(8) / training.speedup().of(4),
              length / to_seconds(training_time(profile, larger, 80)), 1e-6);
}

// The first half of it: 62.5 s of 95 at the wanted size; a job that ends at 0.5 never leaves it.
TEST(Training, ThatEndsEarlyIsThatPartOfIt) {
  const Profile profile = toy();
  const Training training(profile, {4, 40}, kScaled);
  const Pace pace = training.pace(std::vector<std::int32_t>{4, 4}, seconds{50}, 0.5);
  EXPECT_DOUBLE_EQ(pace.us_for(50e6, 0), 50e6 / (4 / 3.0 * 5 / 9));
}

TEST(Training, KeepsBatchesThatWereValidated) {
  const Profile profile = toy();
  const Training scaled(profile, {4, 40}, kScaled);
  // One replica: 10 samples, as validated. Two replicas of 80 samples would make 160.
  EXPECT_DOUBLE_EQ(scaled.stretches(std::vector<std::int32_t>{1})[0].speed,
                   0.25 * (10 + 40) / (10 + 10.0));
  const Training large(profile, {1, 1'000}, kScaled);
  EXPECT_DOUBLE_EQ(speed_on(large, {2}), 2) << "80 samples on one replica or on two";
}

TEST(BatchRule, IsAWord) {
  EXPECT_EQ(parse_batch_rule("scaled").value(), BatchRule::scaled);
  EXPECT_EQ(parse_batch_rule("large").error().message, "'large' is no rule for batches.");
}

}  // namespace
}  // namespace paceline::sim
