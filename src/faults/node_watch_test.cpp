#include "faults/node_watch.hpp"

#include <gmock/gmock.h>

namespace paceline::faults {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kInvitedAtDay = wall_from_us(1'700'000'000'000'000);

class NodeWatchTest : public ::testing::Test {
 protected:
  NodeWatchTest() { watch.invited("token", 1, kInvitedAtDay + std::chrono::hours{1}); }

  void join(std::string name, std::string key, std::uint64_t serial,
            const std::string& token = "token") {
    watch.joined(token, {std::move(name), "", std::move(key)}, serial, kInvitedAtDay);
  }
  [[nodiscard]] const std::vector<std::string>& faults() const { return scene.ledger.faults(); }

  Scene scene{1, time_from_us(1'700'000'000'000'000)};
  NodeWatch watch{scene};
};

TEST_F(NodeWatchTest, WhoJoinedIsHeard) {
  join("gpu-3", "key", 1);
  join("gpu-3", "key", 1);
  watch.heard("gpu-3", 1);
  watch.greeted("gpu-3", "machine", false);
  EXPECT_THAT(faults(), IsEmpty()) << "also where it was told again";
}

TEST_F(NodeWatchTest, NobodyJoinsByWhatIsUsedUpOrOver) {
  join("gpu-3", "key", 1);
  join("gpu-4", "another", 1);
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("used up")));
  watch.invited("early", 1, kInvitedAtDay);
  join("gpu-5", "key", 1, "early");
  EXPECT_THAT(faults().back(), HasSubstr("is over"));
  watch.invited("second", 1, kInvitedAtDay + std::chrono::hours{1});
  watch.revoked("second");
  join("gpu-6", "key", 1, "second");
  EXPECT_EQ(faults().size(), 3U);
  join("gpu-7", "key", 1, "nobodys");
  EXPECT_THAT(faults().back(), HasSubstr("nobody gave"));
}

TEST_F(NodeWatchTest, WhoWasRemovedIsHeardByNobody) {
  join("gpu-3", "key", 1);
  watch.removed("gpu-3");
  watch.refused("gpu-3", 1);
  EXPECT_THAT(faults(), IsEmpty()) << "it is refused";
  watch.heard("gpu-3", 1);
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("was removed, and is heard")));
}

TEST_F(NodeWatchTest, AnOlderIdentityAndANumberThatComesAgainAreWrong) {
  watch.invited("second", 1, WallTime::max() - std::chrono::hours{1});
  join("gpu-3", "key", 1);
  watch.removed("gpu-3");
  join("gpu-3", "other", 1, "second");
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("is given twice")));
  watch.invited("third", 1, WallTime::max() - std::chrono::hours{1});
  watch.removed("gpu-3");
  join("gpu-3", "third", 2, "third");
  watch.heard("gpu-3", 1);
  EXPECT_THAT(faults().back(), HasSubstr("heard by its identity 1"));
}

TEST_F(NodeWatchTest, WhoIsANodeIsNotRefusedAndIsOneMachine) {
  join("gpu-3", "key", 1);
  watch.refused("gpu-3", 1);
  EXPECT_THAT(faults(), ElementsAre(HasSubstr("is refused, and is a node")));
  watch.greeted("gpu-3", "copy", true);
  EXPECT_THAT(faults().back(), HasSubstr("another one is there"));
}

}  // namespace
}  // namespace paceline::faults
