#include "model/gang_ports.hpp"

#include <gtest/gtest.h>

#include <set>

namespace paceline {
namespace {

constexpr PortRange kRange{20'003, 20'100};

std::uint32_t port(std::uint32_t job, std::uint32_t generation, std::uint64_t salt = 0) {
  return *gang_port(kUsualPorts, JobId{job}, Generation{generation}, 10, salt);
}

TEST(GangPorts, AreTheFixedOnesAndOneForEachRankButOfAHugeGang) {
  EXPECT_EQ(ports_needed(1), 3U);
  EXPECT_EQ(ports_needed(128), 130U);
  EXPECT_EQ(ports_needed(129), 2U);
}

TEST(GangPorts, LieInWholeBlocksOfTheRange) {
  EXPECT_EQ(port_runs(kRange, 8).first, 20'008U);
  EXPECT_EQ(port_runs(kRange, 8).count, 11U);
  EXPECT_EQ(port_runs(kRange, 9).count, 10U);
  for (std::uint32_t job = 1; job < 200; ++job) {
    const auto first = gang_port(kRange, JobId{job}, Generation{1}, 9, 0);
    ASSERT_TRUE(first);
    EXPECT_EQ(*first % kPortBlock, 0U);
    EXPECT_GE(*first, kRange.first);
    EXPECT_LE(*first + 16, kRange.end);
  }
}

TEST(GangPorts, AreOthersForTheNextGenerationAndForAnotherServer) {
  EXPECT_EQ(port(7, 1), port(7, 1));
  EXPECT_NE(port(7, 1), port(7, 2));
  EXPECT_NE(port(7, 1, 1), port(7, 1, 2));
  std::set<std::uint32_t> seen;
  for (std::uint32_t job = 1; job <= 100; ++job) seen.insert(port(job, 1));
  EXPECT_GT(seen.size(), 90U);
}

TEST(GangPorts, ThatARangeNeverHoldsAreNone) {
  EXPECT_FALSE(gang_port(kRange, JobId{1}, Generation{1}, 97, 0));
  EXPECT_FALSE(gang_port(kRange, JobId{1}, Generation{1}, 0, 0));
  EXPECT_FALSE(
      gang_port(common({20'000, 21'000}, {22'000, 23'000}), JobId{1}, Generation{1}, 1, 0));
  EXPECT_FALSE(gang_port({}, JobId{1}, Generation{1}, 1, 0));
}

}  // namespace
}  // namespace paceline
