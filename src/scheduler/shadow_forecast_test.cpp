#include "scheduler/shadow_forecast.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

ForecastOutcome outcome(double completion, std::map<std::string, Bill> lost) {
  ForecastOutcome outcome;
  outcome.jobs = lost.size();
  outcome.means.completion = completion;
  for (const auto& [user, bill] : lost) outcome.means.lost += bill;
  outcome.lost = std::move(lost);
  return outcome;
}

TEST(ForecastSamples, AreMeansByCauseAndUser) {
  ForecastSamples samples;
  samples.take(outcome(100, {{"ann", {10, 0, 0}}}), outcome(80, {{"ann", {0, 4, 0}}}));
  samples.take(outcome(200, {{"ann", {30, 0, 0}}, {"bob", {}}}),
               outcome(100, {{"ann", {}}, {"bob", {0, 60, 0}}}));
  const auto means = samples.means();
  EXPECT_EQ(means.samples, 2U);
  EXPECT_EQ(means.jobs, 2U);
  EXPECT_DOUBLE_EQ(means.live.completion, 150);
  EXPECT_DOUBLE_EQ(means.shadow.completion, 90);
  EXPECT_EQ(means.live.lost, (Bill{20, 0, 0}));
  EXPECT_EQ(means.shadow.lost, (Bill{0, 32, 0}));
  // bob: 30 more, as he was not there in the first; ann: 2 instead of 20.
  ASSERT_THAT(means.users, SizeIs(2));
  EXPECT_EQ(means.users[0].user, "bob");
  EXPECT_EQ(means.users[0].lost.shadow, (Bill{0, 30, 0}));
  EXPECT_EQ(means.users[1].user, "ann");
  EXPECT_EQ(means.users[1].lost.live, (Bill{20, 0, 0}));
  EXPECT_EQ(means.users[1].lost.shadow, (Bill{0, 2, 0}));
  EXPECT_EQ(means.other_users, 0U);
}

TEST(ForecastSamples, NameTheUsersWhoseLossesDifferMostAndSumUpTheRest) {
  std::map<std::string, Bill> lost;
  for (int i = 1; i <= 25; ++i) lost[fmt::format("user-{:02}", i)] = {double(i), 0, 0};
  lost["careful"] = {};
  ForecastSamples samples;
  samples.take(outcome(1, {}), outcome(1, lost));
  const auto means = samples.means();
  ASSERT_THAT(means.users, SizeIs(kForecastUsersMax));
  EXPECT_EQ(means.users.front().user, "user-25");
  EXPECT_EQ(means.users.back().user, "user-06");
  EXPECT_EQ(means.other_users, 5U);
  EXPECT_EQ(means.others.shadow, (Bill{1 + 2 + 3 + 4 + 5, 0, 0}));
  EXPECT_EQ(means.others.live, Bill());
}

TEST(ForecastSamples, NameNobodyWhereNobodyLoses) {
  ForecastSamples samples;
  samples.take(outcome(1, {{"ann", {}}}), outcome(1, {{"ann", {}}}));
  EXPECT_THAT(samples.means().users, IsEmpty());
}

}  // namespace
}  // namespace paceline
