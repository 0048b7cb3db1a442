// Journals of whole control planes that crash again and again, replayed: the same policies, reports
// and commands at the same times give the same plans, byte for byte.
#include "sim/replay/replay.hpp"

#include <gmock/gmock.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "app/faults.hpp"
#include "clock/manual/manual_clock.hpp"
#include "engine/obedient_testing.hpp"
#include "faults/fault_world.hpp"
#include "scheduler/controller.hpp"
#include "store/memory/memory_store.hpp"
#include "support/world.hpp"

namespace paceline::sim {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kSeeds = 20;
constexpr std::uint64_t kFirst = 1,
                        kFirstOfJoins = 20'000'001;  // machines that join, pilots of Slurm

void live_through(std::uint64_t seed, Store& disk) {
  faults::FaultOptions options;
  options.seed = seed;
  options.disks_fill = false;
  const faults::FaultKit& kit = fault_kit();
  const faults::FaultReport report = faults::run_fault_world(
      options, {disk, kit.make_engine, kit.make_clock, kit.policies, kit.scripts});
  for (const auto& fault : report.faults) ADD_FAILURE() << fault;
}

std::vector<Entry> entries_of(Store& store) { return *store.entries(1, 1'000'000); }

std::uint64_t quiet_rounds(Store& store) {
  const auto entries = entries_of(store);
  return static_cast<std::uint64_t>(std::ranges::count_if(
      entries, [](const Entry& entry) { return entry.quiet_round.has_value(); }));
}

void put(Store& store, std::vector<Entry> entries) {
  Batch batch;
  batch.entries = std::move(entries);
  ASSERT_TRUE(store.append(batch));
}

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }

  const PolicyRegistry& registry_ = fault_kit().policies;
};

TEST_F(ReplayTest, GivesTheSamePlansAfterEveryCrash) {
  std::uint64_t plans = 0, servers = 0, quiet = 0;
  for (std::uint64_t i = 0; i < kSeeds; ++i) {
    const auto seed = (i % 2 == 0 ? kFirst : kFirstOfJoins) + i / 2;
    MemoryStore disk;
    live_through(seed, disk);
    const auto replayed = replay(disk, registry_);
    ASSERT_TRUE(replayed) << replayed.error().message;
    if (const auto& found = replayed->difference)
      ADD_FAILURE() << "seed " << seed << ", entry " << found->seq << "\n"
                    << found->recorded << "\n"
                    << found->replayed;
    EXPECT_EQ(replayed->replayed, entries_of(disk).size());
    plans += replayed->plans;
    servers += replayed->servers;
    quiet += quiet_rounds(disk);
  }
  EXPECT_GT(plans, 50 * kSeeds) << "worthless if nothing was decided";
  EXPECT_GT(servers, 5 * kSeeds) << "or nothing crashed";
  EXPECT_GT(quiet, 5 * kSeeds) << "or every round could be told from its entries";
}

// What a server writes before its first step is older than that step's round.
TEST_F(ReplayTest, HoldsTheFirstRoundInTheFirstStep) {
  MemoryStore disk;
  ManualClock clock(time_from_us(1'000'000'000));
  Controller::Options options{.build = "test", .policy = "fifo"};
  std::uint64_t steps = 0;
  const auto report = [&steps] {
    Progressed told{JobId{1}, Generation{1}, {}};
    told.report.step = ++steps;
    return told;
  };
  for (const auto reclaim_after : {std::chrono::seconds{60}, std::chrono::seconds{90}}) {
    testing::ObedientEngine engine;
    options.rules.reclaim_after = reclaim_after;
    Controller controller(disk, engine, clock, registry_, options);
    ASSERT_TRUE(controller.recover());
    const auto step = [&] {
      clock.advance(std::chrono::milliseconds{50});
      ASSERT_TRUE(controller.step());
    };
    step();
    if (controller.state().jobs().empty()) {
      engine.tell(NodeUp{NodeId{0}, testing::cluster("1x4 cpu")[0]});
      step();
      LaunchSpec launch;
      launch.command = {"train"};
      launch.directory = "/";
      controller.submit({testing::job("1..1"), launch, {}},
                        [](const Result<JobId>& id) { EXPECT_TRUE(id) << id.error().message; });
    }
    for (int i = 0; i < 3; ++i) step();
    engine.tell(report());
    step();
    Batch batch;
    batch.unjournalled = {report()};
    ASSERT_TRUE(disk.append(batch));
  }
  const auto entries = entries_of(disk);
  const auto second =
      std::ranges::find_if(std::next(entries.begin()), entries.end(),
                           [](const Entry& entry) { return entry.began.has_value(); });
  ASSERT_NE(second, entries.end());
  EXPECT_EQ(second->began->recovered, 2U) << "rules and a report";
  EXPECT_TRUE(entries.back().quiet_round);
  const auto replayed = replay(disk, registry_);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_FALSE(replayed->difference) << replayed->difference->recorded << "\n"
                                     << replayed->difference->replayed;
  EXPECT_EQ(replayed->replayed, entries.size());
}

TEST_F(ReplayTest, ShowsTheFirstEntryThatCameOutOtherwise) {
  MemoryStore disk, forged;
  live_through(1, disk);
  std::vector<Entry> entries = entries_of(disk);
  for (Entry& entry : entries) {
    auto* plan = std::get_if<Plan>(&entry.body);
    if (plan == nullptr || plan->changes.empty()) continue;
    plan->changes.front().reason = {ReasonCode::owner_resized, {1, 2}, {}};
    put(forged, entries);
    const auto replayed = replay(forged, registry_);
    ASSERT_TRUE(replayed && replayed->difference);
    EXPECT_EQ(replayed->difference->seq, entry.seq);
    EXPECT_EQ(replayed->replayed, entry.seq - 1);
    EXPECT_THAT(replayed->difference->recorded, HasSubstr("owner_resized"));
    EXPECT_THAT(replayed->difference->replayed, HasSubstr("\"changes\""));
    return;
  }
  ADD_FAILURE() << "nothing was planned";
}

TEST_F(ReplayTest, TakesWhatOlderServersWroteAsItIs) {
  MemoryStore disk, older;
  live_through(2, disk);
  std::vector<Entry> entries = entries_of(disk);
  entries.front().began.reset();
  put(older, entries);
  const auto replayed = replay(older, registry_);
  ASSERT_TRUE(replayed) << replayed.error().message;
  EXPECT_FALSE(replayed->difference);
  EXPECT_GT(replayed->folded, 0U);
  EXPECT_EQ(replayed->folded + replayed->replayed, entries.size());
}

TEST_F(ReplayTest, SaysWhyAJournalCantBeReplayed) {
  MemoryStore empty, old;
  EXPECT_THAT(replay(empty, registry_).error().message, HasSubstr("what its server decided by"));
  put(old, {{1, time_from_us(5), Event(PolicySet{"fifo", {}})}});
  EXPECT_THAT(replay(old, registry_).error().message, HasSubstr("what its server decided by"));
}

}  // namespace
}  // namespace paceline::sim
