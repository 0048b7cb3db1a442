#include "joining/node_sessions.hpp"

#include <gmock/gmock.h>

namespace paceline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Time kDialledAt = time_from_us(1'000'000);

class NodeSessionsTest : public ::testing::Test {
 protected:
  Session dial(const KnownNode& node = {.id = "gpu-3", .serial = 1}) {
    const Session session{++sessions};
    ended = nodes.dialled(session, node, "0.1.0", now);
    return session;
  }
  static Hello hello(std::string boot, std::string name = "gpu-3",
                     std::string address = "10.0.0.7") {
    Hello said;
    said.boot_id = std::move(boot);
    said.node.name = std::move(name);
    said.node.address = std::move(address);
    return said;
  }
  Result<NodeSessions::Greeted> greet(Session session, Hello said) {
    return nodes.greet(session, said, now);
  }
  Session dial_and_greet(const std::string& boot) {
    const Session session = dial();
    const auto greeted = greet(session, hello(boot));
    EXPECT_TRUE(greeted.has_value());
    if (greeted && greeted->ends) nodes.over(*greeted->ends);
    return session;
  }

  Time now = kDialledAt;
  bool full = false;
  std::vector<std::string> kept;  // boots
  NodeSessions nodes{now, [this](const std::string&, const std::string& boot) -> Result<void> {
                       if (full) return fail(ErrorCode::storage, "The disk is full.");
                       kept.push_back(boot);
                       return {};
                     }};
  std::uint64_t sessions = 0;
  std::optional<Session> ended;
};

TEST_F(NodeSessionsTest, AConnectionSpeaksForItsNodeOnceItSaidHello) {
  const Session session = dial();
  EXPECT_TRUE(nodes.is_there(session));
  EXPECT_FALSE(nodes.has_greeted(session));
  EXPECT_FALSE(nodes.find("gpu-3")->greeted);
  const auto greeted = greet(session, hello("boot-1"));
  ASSERT_TRUE(greeted);
  EXPECT_TRUE(greeted->fresh);
  EXPECT_FALSE(greeted->ends);
  EXPECT_TRUE(nodes.has_greeted(session));
  EXPECT_EQ(nodes.find("gpu-3")->greeted, session);
  EXPECT_EQ(nodes.find("gpu-3")->version, "0.1.0");
}

TEST_F(NodeSessionsTest, OfThoseThatHaveNotSaidHelloTheNewestStays) {
  const Session first = dial();
  EXPECT_FALSE(ended);
  const Session second = dial();
  EXPECT_EQ(ended, first);
  nodes.over(first);
  EXPECT_THAT(nodes.of("gpu-3"), ElementsAre(second));
}

TEST_F(NodeSessionsTest, TheSameBootHasDialledAnew) {
  const Session first = dial_and_greet("boot-1");
  const Session second = dial();
  EXPECT_FALSE(ended) << "it may be anybody, until it says Hello";
  const auto greeted = greet(second, hello("boot-1"));
  ASSERT_TRUE(greeted);
  EXPECT_EQ(greeted->ends, first);
  nodes.over(first);
  EXPECT_EQ(nodes.find("gpu-3")->greeted, second) << "the end of the first concerns nobody else";
}

TEST_F(NodeSessionsTest, ACopyIsRefusedWhileTheFirstIsThere) {
  const Session first = dial_and_greet("boot-1");
  const Session copy = dial();
  const auto refused = greet(copy, hello("boot-2", "gpu-3", "10.0.0.8"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("Two machines show the identity of node 'gpu-3'"));
  EXPECT_FALSE(nodes.has_greeted(copy));
  nodes.over(copy);
  EXPECT_EQ(nodes.find("gpu-3")->greeted, first);
}

// Of seeds 20000043 and 20000134: its workers run, and are given up where a copy that knows nothing of them
// is believed.
TEST_F(NodeSessionsTest, ACopyIsRefusedWhileTheFirstMayDialAgain) {
  const Session first = dial_and_greet("boot-1");
  now += std::chrono::minutes{10};
  nodes.heard(first, now);
  nodes.over(first);
  now += kOtherBootAfter - Duration{1};
  const auto refused = greet(dial(), hello("boot-2"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().retry, Retry::may_help);
  EXPECT_TRUE(greet(dial(), hello("boot-1"))) << "it is there again";
}

TEST_F(NodeSessionsTest, AMachineThatWasStartedAnewIsHeardAfterAWhile) {
  nodes.over(dial_and_greet("boot-1"));
  now += kOtherBootAfter;
  ASSERT_TRUE(greet(dial(), hello("boot-2")));
  EXPECT_THAT(kept, ElementsAre("boot-1", "boot-2"));
}

TEST_F(NodeSessionsTest, AServerThatStartsAnewGivesTheFirstTimeToDial) {
  const KnownNode node{.id = "gpu-3", .serial = 1, .boot = "boot-1"};
  EXPECT_FALSE(greet(dial(node), hello("boot-2")));
  EXPECT_TRUE(greet(dial(node), hello("boot-1")));
  EXPECT_THAT(kept, IsEmpty()) << "it stands there";
}

TEST_F(NodeSessionsTest, ToBeCutOffMakesNoBootForgotten) {
  const Session first = dial_and_greet("boot-1");
  nodes.over(first);
  nodes.forget("gpu-3");
  EXPECT_FALSE(greet(dial(), hello("boot-2")));
  EXPECT_TRUE(greet(dial(), hello("boot-1")));
}

TEST_F(NodeSessionsTest, OneThatWasNeverHeardIsHeardAtOnce) {
  EXPECT_TRUE(greet(dial(), hello("boot-1")));
}

// Of seeds 20084941 and 20089172: after a restart of the server a copy would be taken for it.
TEST_F(NodeSessionsTest, OneWhoseBootCantBeKeptIsNotHeard) {
  full = true;
  const Session session = dial();
  const auto refused = greet(session, hello("boot-1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(refused.error().retry, Retry::may_help);
  EXPECT_THAT(refused.error().message, HasSubstr("The disk is full."));
  EXPECT_FALSE(nodes.has_greeted(session));
  nodes.over(session);
  full = false;
  nodes.over(dial_and_greet("boot-1"));
  full = true;
  EXPECT_TRUE(greet(dial(), hello("boot-1"))) << "nothing is to be kept";
}

TEST_F(NodeSessionsTest, AHelloToldAgainIsNothingNew) {
  const Session session = dial_and_greet("boot-1");
  const auto again = greet(session, hello("boot-1"));
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->fresh);
  EXPECT_FALSE(again->ends);
}

TEST_F(NodeSessionsTest, AnotherNameAndAHelloWithoutABootAreRefused) {
  const Session session = dial();
  EXPECT_EQ(greet(session, hello("boot-1", "gpu-4")).error().code, ErrorCode::conflict);
  EXPECT_EQ(greet(session, hello("")).error().code, ErrorCode::data);
  EXPECT_FALSE(nodes.has_greeted(session));
}

TEST_F(NodeSessionsTest, WhereItStandsTheInvitationSays) {
  const Session session = dial({"gpu-3", 1, {.rack = "r1", .labels = {{"disk", "nvme"}}}});
  Hello said = hello("boot-1");
  said.node.rack = "mine";
  said.node.network_switch = "s9";
  said.node.labels = {{"disk", "tape"}, {"room", "2"}};
  ASSERT_TRUE(nodes.greet(session, said, now));
  EXPECT_EQ(said.node.rack, "r1");
  EXPECT_EQ(said.node.network_switch, "s9");
  EXPECT_EQ(said.node.labels,
            (std::map<std::string, std::string>{{"disk", "nvme"}, {"room", "2"}}));
}

TEST_F(NodeSessionsTest, ANodeThatIsCutOffLosesAllItsConnections) {
  const Session first = dial_and_greet("boot-1");
  const Session waiting = dial();
  EXPECT_THAT(nodes.of("gpu-3"), ElementsAre(first, waiting));
  EXPECT_THAT(nodes.of("gpu-4"), IsEmpty());
  nodes.over(first);
  nodes.over(waiting);
  nodes.forget("gpu-3");
  nodes.forget("gpu-4");
  EXPECT_EQ(nodes.find("gpu-3"), nullptr);
}

TEST_F(NodeSessionsTest, LastWordsAreKnown) {
  const Session session = dial_and_greet("boot-1");
  nodes.heard(session, kDialledAt + std::chrono::seconds{7});
  nodes.over(session);
  EXPECT_EQ(nodes.find("gpu-3")->last_heard, kDialledAt + std::chrono::seconds{7});
  EXPECT_FALSE(nodes.find("gpu-3")->greeted);
}

}  // namespace
}  // namespace paceline
