#include "faults/faulty_ports.hpp"

#include <gtest/gtest.h>

namespace paceline::faults {
namespace {

constexpr PortRange kFourBlocks{20'000, 20'032};

WorkerLaunch asking(std::uint32_t job, std::int32_t nodes, std::uint32_t port,
                    std::int32_t workers = 2) {
  WorkerLaunch launch;
  launch.key = {JobId{job}, Generation{1}, 0};
  launch.world_size = workers;
  launch.group_world_size = nodes;
  launch.port = port;
  return launch;
}

TEST(FaultyPorts, AGangOnSeveralNodesIsRefusedAloneWhereItsPortsAreTaken) {
  FaultyPorts ports(kFourBlocks);
  ASSERT_EQ(ports.let_stranger_in(1), 20'008U);
  const auto refused = ports.take(asking(1, 2, 20'008));
  EXPECT_FALSE(refused.given);
  EXPECT_TRUE(refused.alone);
  EXPECT_EQ(ports.take(asking(2, 2, 20'016)).given, (PortRange{20'016, 20'020}));
  ports.let_stranger_out(20'008);
  EXPECT_TRUE(ports.take(asking(1, 2, 20'008)).given);
}

TEST(FaultyPorts, AGangOnOneNodeTakesTheNextThatAreFree) {
  FaultyPorts ports(kFourBlocks);
  EXPECT_EQ(ports.take(asking(1, 1, 20'024)).given->first, 20'024U);
  EXPECT_EQ(ports.take(asking(2, 1, 20'024)).given->first, 20'000U);
  EXPECT_FALSE(ports.let_stranger_in(3)) << "a gang has it";
}

TEST(FaultyPorts, AreHeldUntilTheLastWorkerOfAGangIsGone) {
  FaultyPorts ports(kFourBlocks);
  const WorkerLaunch first = asking(1, 2, 20'000);
  WorkerLaunch second = first;
  second.key.number = 1;
  ports.take(first);
  EXPECT_EQ(ports.take(second).given->first, 20'000U);
  ports.leave(first.key);
  EXPECT_FALSE(ports.take(asking(2, 2, 20'000)).given);
  ports.leave(second.key);
  EXPECT_TRUE(ports.take(asking(2, 2, 20'000)).given);
}

TEST(FaultyPorts, WhereNoneAreFreeAWorkerAloneDoesWithout) {
  FaultyPorts ports({20'000, 20'008});
  ASSERT_TRUE(ports.let_stranger_in(0));
  const auto refused = ports.take(asking(1, 1, 20'000));
  EXPECT_FALSE(refused.given);
  EXPECT_FALSE(refused.alone) << "the machine has none for anybody";
  EXPECT_EQ(ports.take(asking(2, 1, 20'000, 1)).given, PortRange{});
}

}  // namespace
}  // namespace paceline::faults
