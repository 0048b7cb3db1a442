#include "model/topology.hpp"

#include <gtest/gtest.h>

#include "support/literals.hpp"

namespace paceline {
namespace {

Topology of(std::string_view cluster) {
  Topology topology;
  std::uint32_t next = 0;
  for (const auto& spec : testing::cluster(cluster)) topology.set(NodeId{next++}, spec);
  return topology;
}

TEST(Topology, SaysWhichNodesAreNear) {
  const Topology topology = of("2x1 n rack=a switch=s; 1x1 n rack=b switch=s; 2x1 n");
  const auto domain = [&](std::uint32_t node, Reach reach) {
    return topology.domain(NodeId{node}, reach);
  };
  EXPECT_EQ(domain(0, Reach::rack), domain(1, Reach::rack));
  EXPECT_NE(domain(0, Reach::rack), domain(2, Reach::rack));
  EXPECT_EQ(domain(0, Reach::network_switch), domain(2, Reach::network_switch));
  EXPECT_NE(domain(0, Reach::node), domain(1, Reach::node));
  EXPECT_NE(domain(3, Reach::rack), domain(4, Reach::rack));  // of neither is anything known
  EXPECT_NE(domain(3, Reach::network_switch), domain(4, Reach::network_switch));
}

TEST(Topology, KnowsTheModels) {
  Topology topology = of("1x1 n; 1x1 m; 1x1 n");
  EXPECT_EQ(topology.models(), (std::vector<std::string>{"m", "n"}));
  EXPECT_EQ(topology.site(NodeId{0}).kind, topology.site(NodeId{2}).kind);
  topology.set(NodeId{2}, testing::cluster("1x1 o")[0]);
  EXPECT_EQ(topology.models_of(topology.site(NodeId{2}).kind), std::vector<std::string>{"o"});
}

}  // namespace
}  // namespace paceline
