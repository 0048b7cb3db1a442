#include "sim/study/run_details.hpp"

#include <gmock/gmock.h>

namespace paceline::sim {
namespace {

using std::chrono::seconds;

JobOutcome job(std::int32_t slots, int waited, int ran) {
  JobOutcome outcome;
  outcome.slots = slots;
  outcome.ended = outcome.submitted + seconds{waited + ran};
  outcome.waited = seconds{waited};
  outcome.completed = true;
  return outcome;
}

TEST(Cdf, OfFewValuesHasThemAll) {
  const Cdf cdf = cdf_of({30, 10, 20, 20});
  ASSERT_EQ(cdf.size(), 4U);
  EXPECT_EQ(cdf.front().seconds, 10);
  EXPECT_EQ(cdf.front().part, 0.25);
  EXPECT_EQ(cdf[2].seconds, 20);
  EXPECT_EQ(cdf[2].part, 0.75);
  EXPECT_EQ(cdf.back().seconds, 30);
  EXPECT_EQ(cdf.back().part, 1);
  EXPECT_TRUE(cdf_of({}).empty());
}

TEST(Cdf, OfManyValuesIsThinnedEvenly) {
  std::vector<double> values;
  for (int i = 1; i <= 123'457; ++i) values.push_back(i);
  const Cdf cdf = cdf_of(values);
  ASSERT_EQ(cdf.size(), kCdfPointsMax);
  EXPECT_EQ(cdf.back().seconds, 123'457);
  for (const CdfPoint& point : cdf) EXPECT_NEAR(point.part, point.seconds / 123'457, 1e-9);
}

TEST(RunDetails, TellJobsApartByTheSlotsTheyAskedFor) {
  Outcome outcome;
  outcome.jobs = {job(1, 0, 10), job(2, 5, 10), job(4, 15, 10), job(5, 1, 1),
                  job(9, 2, 2),  job(16, 4, 4), job(33, 7, 1)};
  outcome.jobs.push_back(job(64, 0, 1));
  outcome.jobs.back().completed = false;
  const RunDetails details = details_of(outcome, {});
  std::vector<std::vector<std::int32_t>> classes;
  for (const SizeClass& one : details.sizes)
    classes.push_back({one.least, one.most, static_cast<std::int32_t>(one.jobs)});
  EXPECT_EQ(classes, (std::vector<std::vector<std::int32_t>>{
                         {1, 1, 1}, {2, 4, 2}, {5, 8, 1}, {9, 16, 2}, {33, 64, 1}}));
  EXPECT_EQ(details.sizes[1].average_jct, 20);
  EXPECT_EQ(details.sizes[1].median_jct, 20);
  EXPECT_EQ(details.sizes[1].average_wait, 10);
  EXPECT_EQ(details.jct.size(), 7U);
  EXPECT_EQ(details.submitted, 8U);
  EXPECT_TRUE(details_of({}, {}).jct.empty());
}

}  // namespace
}  // namespace paceline::sim
