#include "sim/cluster.hpp"

#include <gmock/gmock.h>

#include "support/literals.hpp"

namespace paceline::sim {
namespace {

std::string changed(const std::string& cluster, const std::string& what_if) {
  auto nodes = *parse_cluster(cluster);
  const auto done = change_cluster(nodes, what_if);
  return done ? cluster_text(nodes) : done.error().message;
}

TEST(Cluster, IsSaidInTheWordsThatMakeIt) {
  for (const std::string text : {"64x8:gpu", "2x8:A100;4x4:T4", "1x1:cpu"})
    EXPECT_EQ(cluster_text(*parse_cluster(text)), text);
}

TEST(Cluster, GetsOtherNodesForAWhatIf) {
  EXPECT_EQ(changed("2x4:T4", "+2x8"), "2x4:T4;2x8:T4");
  EXPECT_EQ(changed("2x4:T4", "+2x4"), "4x4:T4");
  EXPECT_EQ(changed("2x4:T4", "+1x8:A100;+1x2"), "2x4:T4;1x8:A100;1x2:gpu");
  EXPECT_EQ(changed("3x4", "-node-2"), "2x4:gpu");
  EXPECT_EQ(changed("1x4", "-node-1;+2x8"), "2x8:gpu");
}

TEST(Cluster, AddsSlotsOfTheKindThatIsThere) {
  auto nodes = paceline::testing::cluster("2x4 cpu");
  ASSERT_TRUE(change_cluster(nodes, "+1x2"));
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[2].name, "what-if-3");
  EXPECT_EQ(nodes[2].slots[1].kind, SlotKind::cpu);
}

TEST(Cluster, RefusesWhatIsNoChange) {
  EXPECT_EQ(changed("2x4", "2x8"), "'2x8' neither adds nodes nor takes one away.");
  EXPECT_EQ(changed("2x4", ""), "'' neither adds nodes nor takes one away.");
  EXPECT_EQ(changed("2x4", "+2y8"), "'2y8' is no nodes of a cluster.");
  EXPECT_EQ(changed("2x4", "+1x2;"), "'' neither adds nodes nor takes one away.");
  EXPECT_EQ(changed("2x4", "-node-9"), "There is no node 'node-9' to take away.");
  EXPECT_EQ(changed("1x4", "-node-1"), "No node is left to simulate.");
}

}  // namespace
}  // namespace paceline::sim
