#include "joining/reception.hpp"

#include <gmock/gmock.h>

#include "plan/apply.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kJoinedAt = wall_from_us(1'763'636'100'000'000);
const std::string kTokensDigest(64, 'a');

class ReceptionTest : public ::testing::Test {
 protected:
  ReceptionTest() {
    EXPECT_TRUE(book.invite({.digest = kTokensDigest,
                             .made_at = kJoinedAt,
                             .expires_at = kJoinedAt + std::chrono::hours{1},
                             .uses_left = 2}));
  }
  Result<std::uint64_t> join(std::string name) { return join(std::move(name), state); }
  Result<std::uint64_t> join(std::string name, const State& seen) {
    return reception.join({kTokensDigest, {std::move(name), "", std::string(64, '1')}, kJoinedAt},
                          seen, [this](std::uint64_t serial) -> Result<void> {
                            if (!issues) return fail(ErrorCode::invalid, "It is no request.");
                            issued.push_back(serial);
                            return {};
                          });
  }
  Result<JoinedNode> remove(std::string name, bool is_off = false) {
    return reception.remove({std::move(name), "root", is_off, kJoinedAt}, state);
  }
  void happens(Event event) {
    Entry entry;
    entry.seq = state.seq() + 1;
    entry.body = std::move(event);
    apply(state, entry);
  }
  void comes_up(std::string name) {
    NodeSpec spec;
    spec.name = std::move(name);
    spec.slots.resize(1);
    happens(NodeUp{NodeId{0}, spec});
  }
  void goes_down() { happens(NodeDown{NodeId{0}}); }

  NodeBook book{{}, [](const NodeBook::Pages&) { return Result<void>{}; }};
  std::vector<std::string> done;  // in order
  Reception reception{
      {.book = book,
       .own_nodes = {"box"},
       .cut =
           [this](std::string_view node) {
             done.push_back(fmt::format("cut {}{}", node,
                                        book.known(node, 1) ? ", and it is taken still" : ""));
           },
       .count_off = [this](std::string_view node, std::string_view by) -> Result<void> {
         done.push_back(fmt::format("{} says {} is off", by, node));
         return {};
       }}};
  State state;
  bool issues = true;
  std::vector<std::uint64_t> issued;
};

TEST_F(ReceptionTest, AMachineJoinsOnceItsCertificateIsMade) {
  issues = false;
  EXPECT_EQ(join("gpu-3").error().code, ErrorCode::invalid);
  EXPECT_EQ(book.invitations().at(1).uses_left, 2U) << "nothing is used up";
  EXPECT_FALSE(book.known("gpu-3", 1));
  issues = true;
  EXPECT_EQ(*join("gpu-3"), 1U);
  EXPECT_THAT(issued, ElementsAre(1U));
  EXPECT_TRUE(book.known("gpu-3", 1));
}

TEST_F(ReceptionTest, NoCertificateIsMadeForWhomTheBookRefuses) {
  ASSERT_TRUE(join("gpu-3"));
  ASSERT_TRUE(join("gpu-4"));
  issued.clear();
  EXPECT_FALSE(join("gpu-5"));
  EXPECT_THAT(issued, IsEmpty());
}

TEST_F(ReceptionTest, TheServersOwnMachineIsNobodyElse) {
  EXPECT_EQ(join("box").error().code, ErrorCode::conflict);
  EXPECT_EQ(remove("box").error().code, ErrorCode::conflict);
  EXPECT_THAT(done, IsEmpty());
}

TEST_F(ReceptionTest, WhoIsRemovedIsTakenNoMoreWhenItsConnectionsEnd) {
  ASSERT_TRUE(join("gpu-3"));
  EXPECT_TRUE(remove("gpu-3"));
  EXPECT_THAT(done, ElementsAre("cut gpu-3"));
  EXPECT_EQ(remove("gpu-3").error().code, ErrorCode::not_found);
}

TEST_F(ReceptionTest, TheWordThatAMachineIsOffIsTakenOfOneThatIsDown) {
  ASSERT_TRUE(join("gpu-3"));
  comes_up("gpu-3");
  const auto refused = remove("gpu-3", true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is up"));
  EXPECT_TRUE(book.known("gpu-3", 1)) << "nothing was done";
  goes_down();
  EXPECT_TRUE(remove("gpu-3", true));
  EXPECT_THAT(done, ElementsAre("cut gpu-3", "root says gpu-3 is off"));
}

TEST_F(ReceptionTest, ThatAMachineIsOffMayBeSaidLater) {
  ASSERT_TRUE(join("gpu-3"));
  comes_up("gpu-3");
  ASSERT_TRUE(remove("gpu-3"));
  goes_down();
  done.clear();
  EXPECT_TRUE(remove("gpu-3", true));
  EXPECT_THAT(done, ElementsAre("cut gpu-3", "root says gpu-3 is off"));
  EXPECT_EQ(remove("gpu-7", true).error().code, ErrorCode::not_found);
}

// A server that was made of a backup may have the state alone.
TEST_F(ReceptionTest, ANodeThatIsDownIsRemovedThoughTheBookWasLost) {
  comes_up("gpu-3");
  EXPECT_EQ(remove("gpu-3").error().code, ErrorCode::not_found) << "it is up";
  goes_down();
  const auto removed = remove("gpu-3", true);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(book.nodes().at("gpu-3").off_by, "root");
  EXPECT_THAT(done, ElementsAre("cut gpu-3", "root says gpu-3 is off"));
  EXPECT_EQ(*join("gpu-3"), removed->serial + 1);
}

// A server may die before its journal has what it was told.
TEST_F(ReceptionTest, AServerThatStartsAnewIsToldWhoLeftAndWhoIsOff) {
  ASSERT_TRUE(join("gpu-3"));
  ASSERT_TRUE(join("gpu-4"));
  ASSERT_TRUE(remove("gpu-3", true));
  done.clear();
  reception.recall([this](std::string_view node) { done.push_back(fmt::format("{} left", node)); });
  EXPECT_THAT(done, ElementsAre("gpu-3 left", "root says gpu-3 is off"));
  ASSERT_TRUE(remove("gpu-4"));
  done.clear();
  reception.recall([this](std::string_view node) { done.push_back(fmt::format("{} left", node)); });
  EXPECT_THAT(done, ElementsAre("gpu-3 left", "root says gpu-3 is off", "gpu-4 left"));
}

// Of seed 20053822: its agent knows nothing of what the one before started, and would start it again.
TEST_F(ReceptionTest, NobodyJoinsInPlaceOfAMachineThatIsOffUntilWhatRanThereCountsAsEnded) {
  testing::World world("1x2 cpu");
  const JobId job = world.run("2", 2);
  ASSERT_TRUE(join("cpu-0"));
  world.node_down("cpu-0");
  ASSERT_TRUE(reception.remove({"cpu-0", "root", true, kJoinedAt}, world.state()));
  const auto refused = join("cpu-0", world.state());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(refused.error().retry, Retry::may_help);
  EXPECT_EQ(book.invitations().at(1).uses_left, 1U);
  world.ended(job, {Cause::node_lost, {}, 0, "off", world.now()});
  EXPECT_EQ(*join("cpu-0", world.state()), 2U);
}

TEST_F(ReceptionTest, ANodeThatNeverCameUpHasNothingToCount) {
  ASSERT_TRUE(join("gpu-3"));
  EXPECT_TRUE(remove("gpu-3", true));
  EXPECT_THAT(done, ElementsAre("cut gpu-3"));
}

}  // namespace
}  // namespace paceline
