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
  EXPECT_EQ(merged[0].report, said(a, 1, 0.2));
  EXPECT_EQ(merged[1].report, said(b, 2, 0.3));
  EXPECT_EQ(merged[2].report, said(b, 9, 0.4, 2));
  EXPECT_THAT(merge_reports(world.state(), {}), IsEmpty());
}

TEST(MergeReports, TellsAReachedTargetEvenIfALaterValueMissesIt) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  const std::vector<Event> events = {said(a, 1, 0.8), said(a, 2, 0.95), said(a, 3, 0.96),
                                     said(a, 4, 0.7)};
  for (const auto& merged : merge_reports(world.state(), events)) world.tell(merged.report);
  EXPECT_TRUE(world.job(a).should_stop());
  EXPECT_EQ(world.job(a).progress->metrics.at("accuracy"), 0.7);
  EXPECT_EQ(merge_reports(world.state(), events).size(), 1U);  // known by now
}

TEST(MergeReports, TellsOnceWhatNothingFollows) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  const std::vector<Event> events = {said(a, 1, 0.8), said(a, 2, 0.95)};
  EXPECT_EQ(merge_reports(world.state(), events),
            (std::vector<MergedReport>{{said(a, 2, 0.95), true}}));
}

TEST(MergeReports, ToldByThemselvesAreBounded) {
  World world("1x4 cpu");
  const JobId a = world.run("1..1 target=accuracy>=0.9", 1);
  std::vector<Event> events;
  for (std::uint64_t step = 0; step < 1000; ++step) events.push_back(said(a, step, 0.99));
  EXPECT_EQ(merge_reports(world.state(), events).size(), 2U);
}

// ---- how often the journal is told ----

class ReportSpacingTest : public ::testing::Test {
 protected:
  // What the journal gets when these events come at this second.
  std::vector<Progressed> at(std::int64_t second, const std::vector<Event>& events) {
    const Time now = Time{} + std::chrono::seconds{second};
    auto spaced = spacing_.take(merge_reports(world_.state(), events), events, now);
    waiting_ = std::move(spaced.unjournalled);
    return spaced.journalled;
  }
  [[nodiscard]] std::optional<Time> next() const { return spacing_.next(); }

  World world_{"1x4 cpu"};
  JobId a_ = world_.run("1..1 target=accuracy>=0.9", 1), b_ = world_.run("1..1", 1);
  ReportSpacing spacing_{std::chrono::seconds{5}};
  std::vector<Progressed> waiting_;
};

TEST_F(ReportSpacingTest, AJobsReportsAreToldOnceInTheInterval) {
  EXPECT_EQ(at(10, {said(a_, 1, 0.1)}), std::vector{said(a_, 1, 0.1)});
  EXPECT_THAT(at(11, {said(a_, 2, 0.2)}), IsEmpty());
  EXPECT_EQ(waiting_, std::vector{said(a_, 2, 0.2)});
  EXPECT_EQ(at(12, {said(a_, 3, 0.3), said(b_, 7, 0.7)}), std::vector{said(b_, 7, 0.7)});
  EXPECT_EQ(next(), Time{} + std::chrono::seconds{15});
  EXPECT_EQ(at(15, {}), std::vector{said(a_, 3, 0.3)}) << "without another report, too";
  EXPECT_THAT(at(16, {said(a_, 4, 0.4)}), IsEmpty());
}

TEST_F(ReportSpacingTest, WhatWaitsIsMergedWithWhatComes) {
  at(0, {said(a_, 1, 0.1)});
  Progressed other{a_, Generation{1}, {}};
  other.report.metrics["loss"] = 2;
  at(1, {other});
  at(2, {said(a_, 2, 0.2)});
  Progressed both = said(a_, 2, 0.2);
  both.report.metrics["loss"] = 2;
  EXPECT_EQ(waiting_, std::vector{both});
  EXPECT_EQ(at(5, {}), std::vector{both});
}

TEST_F(ReportSpacingTest, AMetTierIsToldAtOnce) {
  at(0, {said(a_, 1, 0.1)});
  EXPECT_EQ(at(1, {said(a_, 2, 0.95), said(a_, 3, 0.5)}), std::vector{said(a_, 2, 0.95)});
  EXPECT_EQ(waiting_, std::vector{said(a_, 3, 0.5)});
}

TEST_F(ReportSpacingTest, WhatIsJournalledTogetherIsAsItWouldBeMergedAgain) {
  at(0, {said(a_, 1, 0.1)});
  Progressed of_a_clock_ahead = said(a_, 2, 0.2);
  of_a_clock_ahead.report.reported_at = Time{} + std::chrono::hours{1};
  at(1, {of_a_clock_ahead});
  const auto told = at(2, {said(a_, 3, 0.95), said(a_, 4, 0.5), NodeDown{NodeId{0}}});
  ASSERT_EQ(told.size(), 2U);
  std::vector<Progressed> again;
  const std::vector<Event> events(told.begin(), told.end());
  for (auto& merged : merge_reports(world_.state(), events)) again.push_back(merged.report);
  EXPECT_EQ(told, again) << "a replay is told what was journalled";
}

TEST_F(ReportSpacingTest, AnythingElseOfAJobTellsWhatItSaidBefore) {
  at(0, {said(a_, 1, 0.1), said(b_, 1, 0.1)});
  at(1, {said(a_, 2, 0.2), said(b_, 2, 0.2)});
  const ProcessKey worker{a_, Generation{1}, 0};
  EXPECT_EQ(at(2, {WorkerEnded{worker, {}}}), std::vector{said(a_, 2, 0.2)});
  EXPECT_EQ(at(3, {CheckpointAcknowledged{b_, Generation{1}, {}}}), std::vector{said(b_, 2, 0.2)});
  at(4, {said(a_, 3, 0.3), said(b_, 3, 0.3)});
  EXPECT_EQ(at(4, {NodeDown{NodeId{0}}}).size(), 2U);
}

TEST_F(ReportSpacingTest, AnotherGenerationDoesNotHideTheOneBefore) {
  at(0, {said(a_, 1, 0.1)});
  at(1, {said(a_, 2, 0.2)});
  EXPECT_EQ(at(2, {said(a_, 3, 0.3, 2)}), std::vector{said(a_, 2, 0.2)});
  EXPECT_EQ(waiting_, std::vector{said(a_, 3, 0.3, 2)});
}

TEST_F(ReportSpacingTest, AJobThatFellSilentIsForgotten) {
  at(0, {said(a_, 1, 0.1)});
  at(5, {});
  EXPECT_EQ(next(), std::nullopt);
  EXPECT_EQ(at(6, {said(a_, 2, 0.2)}).size(), 1U);
}

TEST_F(ReportSpacingTest, WithoutAnIntervalEveryRoundTells) {
  spacing_ = ReportSpacing(Duration::zero());
  for (std::uint64_t step = 1; step < 5; ++step)
    EXPECT_EQ(at(1, {said(a_, step, 0.1)}), std::vector{said(a_, step, 0.1)});
}

}  // namespace
}  // namespace paceline
