#include "agent/linux/unclaimed.hpp"

#include <gtest/gtest.h>

#include "agent/linux/testing.hpp"

namespace paceline::agent {
namespace {

TEST(RemovedClaim, IsAClaimsFileOfThisDirectoryThatIsNoMore) {
  const std::string directory = "/srv/agent/workers";
  EXPECT_EQ(removed_claim("/srv/agent/workers/7.2.0 (deleted)", directory), key(7, 2, 0));
  for (const char* link :
       {"/srv/agent/workers/7.2.0", "/srv/agent/workers/7.2.0 (deleted) x",
        "/other/agent/workers/7.2.0 (deleted)", "/srv/agent/workers/7.2 (deleted)",
        "/srv/agent/workers/x/7.2.0 (deleted)", "/srv/agent/workers7.2.0 (deleted)", "",
        " (deleted)"})
    EXPECT_EQ(removed_claim(link, directory), std::nullopt) << link;
}

TEST(Unclaimed, IsNobodyWhereNobodyIs) {
  const TempDirectory directory;
  const auto found = find_unclaimed(Marks(directory.path()));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->removed.empty());
  EXPECT_TRUE(found->marked.empty());
}

}  // namespace
}  // namespace paceline::agent
