#include "scheduler/reports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::IsEmpty;
using testing::World;

Progressed said(JobId job, std::uint64_t step, double accuracy, std::uint32_t generation = 1) {
  Progress report;
  report.step = step;
  report.metrics = {{"accuracy", accuracy}};
  return {job, Generation{generation}, report};
}

TEST(MergeReports, KeepsTheLastWordOfEachJobAndGeneration) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1", 1);
  const JobId b = world.run("1..1", 1);
  const std::vector<Event> events = {said(b, 1, 0.1), said(a, 1, 0.2), NodeDown{NodeId{0}},
                                     said(b, 2, 0.3), said(b, 9, 0.4, 2)};
  const auto merged = merge_reports(world.state(), events);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0], said(a, 1, 0.2));
  EXPECT_EQ(merged[1], said(b, 2, 0.3));
  EXPECT_EQ(merged[2], said(b, 9, 0.4, 2));
  EXPECT_THAT(merge_reports(world.state(), {}), IsEmpty());
}

TEST(MergeReports, TellsAReachedTargetEvenIfALaterValueMissesIt) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  const std::vector<Event> events = {said(a, 1, 0.8), said(a, 2, 0.95), said(a, 3, 0.96),
                                     said(a, 4, 0.7)};
  for (const auto& report : merge_reports(world.state(), events)) world.tell(report);
  EXPECT_TRUE(world.job(a).should_stop());
  EXPECT_EQ(world.job(a).progress->metrics.at("accuracy"), 0.7);
  EXPECT_EQ(merge_reports(world.state(), events).size(), 1U);  // known by now
}

TEST(MergeReports, TellsOnceWhatNothingFollows) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  const std::vector<Event> events = {said(a, 1, 0.8), said(a, 2, 0.95)};
  EXPECT_EQ(merge_reports(world.state(), events), std::vector{said(a, 2, 0.95)});
}

TEST(MergeReports, ToldByThemselvesAreBounded) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  std::vector<Event> events;
  for (std::uint64_t step = 0; step < 1000; ++step) events.push_back(said(a, step, 0.99));
  EXPECT_EQ(merge_reports(world.state(), events).size(), 2U);
}

}  // namespace
}  // namespace paceline
