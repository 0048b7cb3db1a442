#include "sim/truth/workload.hpp"

#include <gmock/gmock.h>

#include "sim/cluster.hpp"
#include "sim/truth/speedup.hpp"

namespace paceline::sim {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

std::shared_ptr<const Trace> hourly(int jobs, std::int32_t slots = 2) {
  auto trace = std::make_shared<Trace>();
  for (int i = 0; i < jobs; ++i) {
    TraceJob job;
    job.submitted = Time{} + hours{1'000 + i};
    job.duration = minutes{10};
    job.slots = slots;
    trace->jobs.push_back(job);
  }
  return trace;
}

TEST(Workload, IsTheTraceInOrderOfSubmissionThenOfTheFile) {
  auto trace = std::make_shared<Trace>();
  for (const int at : {5, 3, 5, 3}) {
    TraceJob job;
    job.submitted = Time{} + seconds{at};
    job.duration = seconds{1};
    job.slots = 1;
    trace->jobs.push_back(job);
  }
  const Workload workload = make_workload(trace, 4, {});
  std::vector<std::uint32_t> order;
  for (const Arrival& arrival : workload.arrivals) order.push_back(arrival.job);
  EXPECT_THAT(order, ::testing::ElementsAre(1, 3, 0, 2));
}

TEST(Workload, CountsWhatIsLargerThanTheCluster) {
  const Workload workload = make_workload(hourly(3, 9), 8, {});
  EXPECT_EQ(workload.rejected, 3U);
  EXPECT_TRUE(workload.arrivals.empty());
}

TEST(Workload, ALoadDividesTheTimesBetweenSubmissions) {
  WorkloadOptions options;
  options.load = 1.5;
  const Workload workload = make_workload(hourly(4), 8, options);
  EXPECT_EQ(workload.arrivals[3].at - workload.arrivals[0].at, hours{2});
}

TEST(Workload, IsCutByTheTimeSinceTheFirstSubmission) {
  WorkloadOptions options;
  options.from = hours{2};
  options.until = hours{5};
  const Workload workload = make_workload(hourly(10), 8, options);
  ASSERT_EQ(workload.arrivals.size(), 3U);
  EXPECT_EQ(workload.arrivals[0].job, 2U);
}

TEST(Workload, ASeedDrawsWholeDaysAgainAndJitters) {
  const auto trace = hourly(24 * 20);
  WorkloadOptions options;
  options.seed = 7;
  const Workload once = make_workload(trace, 8, options);
  const Workload again = make_workload(trace, 8, options);
  ASSERT_EQ(once.arrivals.size(), trace->jobs.size());
  std::set<std::uint32_t> drawn;
  for (std::size_t i = 0; i < once.arrivals.size(); ++i) {
    EXPECT_EQ(once.arrivals[i].at, again.arrivals[i].at);
    const Duration of_day = (once.arrivals[i].at - trace->jobs[0].submitted) % hours{24};
    const Duration before =
        (trace->jobs[once.arrivals[i].job].submitted - trace->jobs[0].submitted) % hours{24};
    const Duration moved = std::min(std::chrono::abs(of_day - before),
                                    Duration{hours{24}} - std::chrono::abs(of_day - before));
    EXPECT_LE(moved, kJitter);
    drawn.insert(once.arrivals[i].job);
  }
  EXPECT_LT(drawn.size(), trace->jobs.size());
  EXPECT_EQ(drawn.size() % 24, 0U);
}

TEST(Workload, ASeedDrawsFromTheDaysThatAreLeftIn) {
  const auto trace = hourly(24 * 20);
  WorkloadOptions options;
  options.from = hours{24 * 15 + 6};
  options.until = hours{24 * 18 + 6};
  for (options.seed = 0; options.seed < 4; ++options.seed) {
    const Workload workload = make_workload(trace, 8, options);
    ASSERT_EQ(workload.arrivals.size(), 24U * 3) << "seed " << options.seed;
    const Time first = trace->jobs[0].submitted;
    EXPECT_GE(workload.arrivals.front().at, first + *options.from);
    EXPECT_LE(workload.arrivals.back().at, first + *options.until + kJitter);
  }
}

TEST(Workload, SizesAreSlotsOrMultiplesOfWhatWasAskedFor) {
  WorkloadOptions options;
  options.elastic = *parse_elastic_rule("min=1,max=2x");
  EXPECT_EQ(make_workload(hourly(1, 3), 8, options).arrivals[0].range, (WorkerRange{1, 6, 3}));
  options.elastic = *parse_elastic_rule("min=0.5x");
  EXPECT_EQ(make_workload(hourly(1, 3), 8, options).arrivals[0].range, (WorkerRange{1, 3, 3}));
  options.elastic = *parse_elastic_rule("max=100");
  EXPECT_EQ(make_workload(hourly(1, 3), 8, options).arrivals[0].range, (WorkerRange{3, 8, 3}));
  for (const char* wrong : {"", "min", "min=", "min=0", "min=-1", "min=1.5", "max=x", "min=nan",
                            "max=1e99", "min=1;max=2", "size=1", "min=1,,"})
    EXPECT_FALSE(parse_elastic_rule(wrong)) << wrong;
}

TEST(Cluster, IsNodesTimesSlots) {
  const auto nodes = parse_cluster("2x8:A100;1x4");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 3U);
  EXPECT_EQ((*nodes)[0].name, "node-1");
  EXPECT_EQ((*nodes)[1].slots.size(), 8U);
  EXPECT_EQ((*nodes)[1].slots[0].model, "A100");
  EXPECT_EQ((*nodes)[2].slots.size(), 4U);
  for (const char* wrong : {"", "8", "0x8", "8x0", "x8", "8x", "-1x8", "2x8;", "2x8:", "2x8 ",
                            "99999999999999999999x1", "100000x1000", "2x8;;2x8"})
    EXPECT_FALSE(parse_cluster(wrong)) << wrong;
}

TEST(Speedup, IsLinearAmdahlsOrMeasured) {
  EXPECT_DOUBLE_EQ(Speedup::linear().of(16), 16);
  EXPECT_DOUBLE_EQ(Speedup::amdahl(0.05).of(1), 1);
  EXPECT_DOUBLE_EQ(Speedup::amdahl(0.5).of(4), 1.6);
  const Speedup table = *parse_speedup("table=1:1,2:1.8,4:3");
  EXPECT_DOUBLE_EQ(table.of(2), 1.8);
  EXPECT_DOUBLE_EQ(table.of(3), 2.4);
  EXPECT_DOUBLE_EQ(table.of(8), 3);
  EXPECT_DOUBLE_EQ(table.of(0), 0);
  for (const char* text : {"linear", "amdahl=0.05", "table=1:1,2:1.8,4:3"})
    EXPECT_EQ(parse_speedup(text)->text(), text);
  for (const char* wrong : {"", "amdahl", "amdahl=2", "amdahl=-0.1", "amdahl=nan", "table=",
                            "table=1", "table=2:1,1:2", "table=1:0", "table=1:1,", "fast"})
    EXPECT_FALSE(parse_speedup(wrong)) << wrong;
}

}  // namespace
}  // namespace paceline::sim
