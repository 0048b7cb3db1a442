#include "model/progress.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(Progress, IsCountedInSamplesThenStepsThenEpochs) {
  Progress p;
  EXPECT_EQ(p.ratio({}), std::nullopt);
  p.epoch = 1.5;
  p.total_epochs = 3;
  EXPECT_EQ(p.ratio({}), 0.5);
  p.step = 10;
  p.total_steps = 40;
  EXPECT_EQ(p.ratio({}), 0.25);
  p.samples = 600;
  EXPECT_EQ(p.ratio(1000), 0.6);
  EXPECT_EQ(p.ratio(100), 1.0);  // more than expected is no more than done
  EXPECT_EQ(p.ratio(0), 0.25);
}

TEST(Merge, KeepsWhatAReportLeavesOut) {
  Progress p;
  p.step = 10;
  p.metrics = {{"loss", 0.5}};
  p.resume = ResumeAudit{true, "step 5"};
  p.reported_at = time_from_us(5);
  Progress report;
  report.samples = 640;
  report.metrics = {{"accuracy", 0.9}};
  report.reported_at = time_from_us(3);
  merge(p, report);
  EXPECT_EQ(p.step, 10U);
  EXPECT_EQ(p.samples, 640U);
  EXPECT_EQ(p.metrics, (std::map<std::string, double>{{"accuracy", 0.9}, {"loss", 0.5}}));
  EXPECT_EQ(p.reported_at, time_from_us(5));
  EXPECT_EQ(p.resume, (ResumeAudit{true, "step 5"}));
  report.resume = ResumeAudit{false, "step 9"};
  merge(p, report);
  EXPECT_EQ(p.resume, report.resume) << "of the last resume";
}

TEST(Merge, DropsNamesBeyondTheBoundButGoesOnWithKnownOnes) {
  Progress p, report;
  for (std::size_t i = 0; i < kMetricsMax; ++i) p.metrics[fmt::format("m{}", i)] = 0;
  report.metrics = {{"m0", 1}, {"one_more", 1}};
  merge(p, report);
  EXPECT_EQ(p.metrics.size(), kMetricsMax);
  EXPECT_EQ(p.metrics.at("m0"), 1);
  EXPECT_FALSE(p.metrics.contains("one_more"));
}

}  // namespace
}  // namespace paceline
