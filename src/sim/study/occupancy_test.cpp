#include "sim/study/occupancy.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "base/rng.hpp"
#include "sim/cluster.hpp"
#include "sim/study/simulation.hpp"

namespace paceline::sim {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;

struct Row {
  int submitted, duration, slots;
};

Workload workload_of(const std::vector<Row>& rows, std::int64_t slots) {
  auto trace = std::make_shared<Trace>();
  for (const Row& row : rows) {
    TraceJob job;
    job.name = "job-" + std::to_string(trace->jobs.size());
    job.submitted = Time{} + hours{1000} + seconds{row.submitted};
    job.duration = seconds{row.duration};
    job.slots = row.slots;
    trace->jobs.push_back(job);
  }
  return make_workload(trace, slots, {});
}

Outcome play(const Workload& workload, const std::string& cluster, const std::string& policy,
             bool keep_occupancy = true) {
  Setup setup;
  setup.nodes = *parse_cluster(cluster);
  setup.policy = {policy, {}, {}};
  setup.keep_occupancy = keep_occupancy;
  const PolicyRegistry registry;
  auto outcome = simulate(workload, setup, registry);
  EXPECT_TRUE(outcome.has_value() && outcome->refused == 0);
  return outcome ? std::move(*outcome) : Outcome{};
}

// "job: slots from-until", one for each stay.
std::vector<std::string> told(const Occupancy& occupancy) {
  std::vector<std::string> lines;
  for (const Stay& stay : occupancy.stays)
    lines.push_back(std::to_string(stay.job) + " in " + std::to_string(stay.slot) + ": " +
                    std::to_string(to_seconds(stay.from - occupancy.begin)).substr(0, 3) + "-" +
                    std::to_string(to_seconds(stay.until - occupancy.begin)).substr(0, 3));
  return lines;
}

TEST(Occupancy, SaysWhichJobHeldWhichSlotFromWhenToWhen) {
  const auto workload = workload_of({{0, 100, 1}, {10, 200, 1}, {20, 300, 2}}, 2);
  const auto outcome = play(workload, "1x2", "fifo");
  ASSERT_TRUE(outcome.occupancy);
  EXPECT_THAT(told(*outcome.occupancy), ElementsAre("0 in 0: 0.0-100", "1 in 1: 10.-210",
                                                    "2 in 0: 210-510", "2 in 1: 210-510"));
  EXPECT_EQ(outcome.occupancy->view.until - outcome.occupancy->begin, seconds{510});
  EXPECT_EQ(outcome.occupancy->end, outcome.occupancy->view.until);
}

TEST(Occupancy, IsKeptOnlyWhereThatWasAskedForAndChangesNothing) {
  const auto workload = workload_of({{0, 100, 1}, {10, 200, 1}, {20, 300, 2}}, 2);
  const auto with = play(workload, "1x2", "srtf"), without = play(workload, "1x2", "srtf", false);
  EXPECT_FALSE(without.occupancy);
  EXPECT_EQ(with.digest, without.digest);
  EXPECT_EQ(with.events, without.events);
  EXPECT_EQ(with.leased, without.leased);
}

TEST(Occupancy, CountsEveryLeasedSlotSecondAndGivesNoSlotTwice) {
  Rng rng(7);
  for (int round = 0; round < 30; ++round) {
    std::vector<Row> rows;
    for (int i = 0; i < 60; ++i)
      rows.push_back({static_cast<int>(rng.below(5'000)), static_cast<int>(1 + rng.below(900)),
                      static_cast<int>(1 + rng.below(8))});
    const auto outcome = play(workload_of(rows, 8), "2x4", round % 2 == 0 ? "srtf" : "elastic-las");
    const Occupancy& kept = *outcome.occupancy;
    EXPECT_NEAR(std::accumulate(kept.leased.begin(), kept.leased.end(), 0.0), outcome.leased, 1e-3);
    EXPECT_LE(kept.leased.size(), static_cast<std::size_t>(kBinsMax));
    for (const double leased : kept.leased) EXPECT_LE(leased, 8 * to_seconds(kept.bin) + 1e-6);
    std::vector<Time> free_since(kept.view.slots.size(), kept.view.from);
    for (const Stay& stay : kept.stays) {
      EXPECT_LT(stay.from, stay.until);
      EXPECT_GE(stay.from, free_since[stay.slot]);
      EXPECT_LE(stay.until, kept.view.until);
      free_since[stay.slot] = stay.until;
    }
  }
}

TEST(Occupancy, IsBoundedOnLongTraces) {
  std::vector<Row> rows;
  for (int i = 0; i < 10'000; ++i) rows.push_back({i * 10, i % 3 == 0 ? 400 : 1, 1});
  const auto outcome = play(workload_of(rows, 100), "1x60;5x8", "fifo");
  const Occupancy& kept = *outcome.occupancy;
  EXPECT_EQ(kept.view.slots.size(), kSlotsViewed);
  EXPECT_LE(kept.stays.size(), kStaysMax);
  EXPECT_GT(kept.view.until, kept.view.from);
  EXPECT_LT(kept.view.until, kept.end);
  EXPECT_LE(kept.leased.size(), static_cast<std::size_t>(kBinsMax));
}

TEST(OccupancyView, HasWholeNodesAndTheTimeWhenMostWorkWaits) {
  std::vector<Row> rows;
  for (int i = 0; i < 1'000; ++i) rows.push_back({i * 100, 100, 1});
  for (int i = 0; i < 50; ++i) rows.push_back({60'000, 100, 8});
  const auto view = view_of(workload_of(rows, 80), *parse_cluster("10x8"));
  EXPECT_EQ(view.slots.size(), 48U);
  EXPECT_EQ(view.slots.back(), (SlotId{NodeId{5}, 7}));
  const Time peak = Time{} + hours{1000} + seconds{60'000};
  EXPECT_LT(view.from, peak);
  EXPECT_GT(view.until, peak);
  EXPECT_EQ(view_of(workload_of({}, 8), *parse_cluster("1x8")).slots.size(), 8U);
}

TEST(Occupancy, BinsOfAnotherWidthHoldTheSame) {
  Occupancy occupancy;
  occupancy.bin = seconds{1};
  occupancy.leased = {1, 2, 3, 4, 5};
  EXPECT_THAT(leased_in_bins_of(seconds{2}, occupancy), ElementsAre(3, 7, 5));
  EXPECT_THAT(leased_in_bins_of(seconds{8}, occupancy), ElementsAre(15));
}

}  // namespace
}  // namespace paceline::sim
