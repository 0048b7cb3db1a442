#include "estimate/learning.hpp"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Learning, IsThePlainMeanWhileThereIsLittle) {
  Mean mean;
  for (const double sample : {2.0, 4.0, 6.0}) learn(mean, sample, 7);
  EXPECT_DOUBLE_EQ(mean.value, 4);
  EXPECT_EQ(mean.count, 3U);
  EXPECT_EQ(mean.seq, 7U);
}

// A job that trains at another speed from now on is known anew after a few reports.
TEST(Learning, LetsTheNewestRatesCountMost) {
  SpeedPoint point;
  for (int i = 0; i < 100; ++i) learn_rate(point, 10);
  EXPECT_DOUBLE_EQ(point.rate, 10);
  EXPECT_DOUBLE_EQ(point.variance, 0);
  learn_rate(point, 20);
  EXPECT_DOUBLE_EQ(point.rate, 13);
  EXPECT_DOUBLE_EQ(point.variance, 21);
  for (int i = 0; i < 10; ++i) learn_rate(point, 20);
  EXPECT_GT(point.rate, 19.5);
  EXPECT_EQ(point.reports, 111U);
}

TEST(Learning, HasNoVarianceOfOneReport) {
  SpeedPoint point;
  learn_rate(point, 480);
  EXPECT_DOUBLE_EQ(point.rate, 480);
  EXPECT_DOUBLE_EQ(point.variance, 0);
}

TEST(Learning, TakesHalfOfTheNewestPause) {
  Job job;
  for (const double seconds : {4.0, 8.0, 2.0}) learn_pause(job, seconds);
  EXPECT_DOUBLE_EQ(job.resize_pause, 4);  // 4, 6, 4
  EXPECT_EQ(job.resize_pauses, 3);
}

TEST(Learning, TakesAFifthOfTheNewestLengthOfAName) {
  NameHistory history;
  for (int i = 0; i < 5; ++i) learn_length(history, 100, time_from_us(i));
  EXPECT_DOUBLE_EQ(history.seconds, 100);
  learn_length(history, 200, time_from_us(9));
  EXPECT_DOUBLE_EQ(history.seconds, 120);
  EXPECT_EQ(history.completed, 6U);
  EXPECT_EQ(history.last, time_from_us(9));
}

}  // namespace
}  // namespace paceline
