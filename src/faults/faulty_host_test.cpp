#include "faults/faulty_host.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <variant>
#include <vector>

namespace paceline::faults {
namespace {

constexpr std::size_t kReports = 2;

// Of one boot.
class BootedClock final : public Clock {
 public:
  explicit BootedClock(EventQueue& queue) : queue_(queue), boot_{"first", queue.now()} {}
  Time now() override { return queue_.now(); }
  [[nodiscard]] const Boot* boot() const override { return &boot_; }

 private:
  EventQueue& queue_;
  Boot boot_;
};

class FaultyHostTest : public ::testing::Test {
 protected:
  static NodeSpec box() {
    NodeSpec node;
    node.name = "box";
    node.slots.resize(1);
    return node;
  }
  // Another agent listens from now on.
  void listen() {
    seen.clear();
    host.on_observation([this](const agent::Observation& each) { seen.push_back(each); });
  }
  [[nodiscard]] std::size_t reports() const {
    return static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), [](const auto& each) {
      return std::holds_alternative<WorkerReport>(each);
    }));
  }

  EventQueue queue{time_from_us(1'700'000'000'000'000)};
  BootedClock clock{queue};
  Ledger ledger;
  FaultyHost host{queue, clock, ledger, Rng(3), box()};
  std::vector<agent::Observation> seen;
};

TEST_F(FaultyHostTest, TellsWhatIsInALogBeforeTheEndOfAWorkerWhoseSupervisorDied) {
  host.calm();
  listen();
  WorkerLaunch launch;
  launch.key = {JobId{1}, Generation{1}, 0};
  launch.slots = {0};
  host.perform(agent::Start{launch});
  while (reports() < kReports && queue.run_next()) {
  }
  ASSERT_EQ(reports(), kReports);
  host.agent_died();
  host.supervisor_died();
  listen();
  const auto claims = host.claims();
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_TRUE(claims.front().gone) << "all of its log was told before";
  EXPECT_GE(seen.size(), kReports);
  for (const auto& each : seen) EXPECT_FALSE(std::holds_alternative<WorkerGone>(each));
}

}  // namespace
}  // namespace paceline::faults
