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

TEST(Topology, KnowsWhichNodesServeWhom) {
  Topology topology = of("1x1 n; 1x1 n only=ann; 1x1 n only=ann; 1x1 n only=bob");
  const auto kind = [&](std::uint32_t node) { return topology.site(NodeId{node}).kind; };
  EXPECT_EQ(kind(1), kind(2));
  EXPECT_NE(kind(1), kind(3));
  EXPECT_NE(kind(0), kind(1));
  EXPECT_EQ(topology.user_of(kind(0)), "");
  EXPECT_EQ(topology.user_of(kind(1)), "ann");
  EXPECT_EQ(topology.models().size(), 1U);
}

TEST(Topology, IsChoosyWhileANodeIs) {
  Topology topology = of("1x1 n; 1x1 n strangers=eve");
  EXPECT_TRUE(topology.is_choosy());
  topology.set(NodeId{1}, testing::cluster("1x1 n")[0]);
  EXPECT_FALSE(topology.is_choosy());
  for (int i = 0; i < 2; ++i) topology.set(NodeId{0}, testing::cluster("1x1 n only=ann")[0]);
  EXPECT_TRUE(topology.is_choosy());
  topology.set(NodeId{0}, testing::cluster("1x1 n")[0]);
  EXPECT_FALSE(topology.is_choosy());
}

}  // namespace
}  // namespace paceline
