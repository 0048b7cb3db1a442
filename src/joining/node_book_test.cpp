#include "joining/node_book.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "joining/node_book_testing.hpp"
#include "trust/authority.hpp"

namespace paceline {
namespace {

using testing::digest_of;
using ::testing::HasSubstr;
using testing::kInvitedAt;
using testing::kInvitedFor;
using testing::machine;

class NodeBookTest : public ::testing::Test {
 protected:
  // What is kept stands in disk_, unless that is full.
  [[nodiscard]] NodeBook open() {
    return {disk_, [this](const NodeBook::Pages& next) -> Result<void> {
              if (full_) return fail(ErrorCode::storage, "The disk is full.");
              disk_ = next;
              return {};
            }};
  }
  static Invitation invitation(char c, std::uint32_t uses = 1) {
    return {.digest = digest_of(c),
            .made_by = "root",
            .made_at = kInvitedAt,
            .expires_at = kInvitedAt + kInvitedFor,
            .uses_left = uses,
            .place = {.rack = "r1", .network_switch = "s1", .labels = {{"disk", "nvme"}}}};
  }
  // A book with an invitation for ten, by which gpu-3 joined.
  NodeBook joined() {
    NodeBook book = open();
    EXPECT_TRUE(book.invite(invitation('a', 10)));
    EXPECT_TRUE(book.join(digest_of('a'), machine("gpu-3"), kInvitedAt));
    return book;
  }

  NodeBook::Pages disk_;
  bool full_ = false;
};

TEST_F(NodeBookTest, AMachineJoinsByAnInvitationAndIsKnown) {
  NodeBook book = open();
  ASSERT_EQ(book.invite(invitation('a'))->id, 1U);
  const auto serial = book.join(digest_of('a'), machine("gpu-3"), kInvitedAt);
  ASSERT_TRUE(serial) << serial.error().message;
  EXPECT_EQ(*serial, 1U);
  const auto node = book.known("gpu-3", 1);
  ASSERT_TRUE(node);
  EXPECT_EQ(node->id, "gpu-3");
  EXPECT_EQ(node->serial, 1U);
  EXPECT_EQ(node->place, invitation('a').place);
}

TEST_F(NodeBookTest, UnknownExpiredAndUsedUpAreToldApart) {
  NodeBook book = open();
  ASSERT_TRUE(book.invite(invitation('a')));
  const auto refused = [&](char c, WallTime now) {
    const auto serial = book.join(digest_of(c), machine("gpu-9"), now);
    EXPECT_FALSE(serial);
    EXPECT_EQ(serial.error().code, ErrorCode::forbidden);
    EXPECT_THAT(serial.error().hint, HasSubstr("paceline node invite"));
    return serial.error().message;
  };
  EXPECT_THAT(refused('b', kInvitedAt), HasSubstr("doesn't know this join token"));
  EXPECT_THAT(refused('a', kInvitedAt + kInvitedFor),
              HasSubstr("expired at 2025-11-20 11:55:00 UTC"));
  ASSERT_TRUE(book.join(digest_of('a'), machine("gpu-3"), kInvitedAt + kInvitedFor - Duration{1}));
  EXPECT_THAT(refused('a', kInvitedAt), HasSubstr("was used up"));
  ASSERT_TRUE(book.revoke(1));
  EXPECT_THAT(refused('a', kInvitedAt), HasSubstr("doesn't know this join token"));
  EXPECT_TRUE(book.known("gpu-3", 1)) << "nodes that joined by it stay";
}

TEST_F(NodeBookTest, AnInvitationHoldsForAsManyAsItSays) {
  NodeBook book = open();
  ASSERT_TRUE(book.invite(invitation('a', 3)));
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(book.join(digest_of('a'), machine(fmt::format("gpu-{}", i)), kInvitedAt));
  EXPECT_FALSE(book.join(digest_of('a'), machine("gpu-3"), kInvitedAt));
  EXPECT_EQ(book.nodes().size(), 3U);
}

TEST_F(NodeBookTest, ANameIsOneMachines) {
  NodeBook book = joined();
  auto other = machine("gpu-3");
  other.machine = "another";
  const auto refused = book.join(digest_of('a'), other, kInvitedAt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().message, "A node 'gpu-3' joined already.");
  EXPECT_THAT(refused.error().hint, HasSubstr("paceline node remove gpu-3"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--node NAME"));
  EXPECT_EQ(book.invitations().at(1).uses_left, 9U) << "a refusal uses nothing up";
}

TEST_F(NodeBookTest, AMachineHasOneName) {
  NodeBook book = joined();
  auto same = machine("gpu-4");
  same.machine = machine("gpu-3").machine;
  const auto refused = book.join(digest_of('a'), same, kInvitedAt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().message, HasSubstr("as 'gpu-3'"));
  auto unknown = machine("gpu-4");
  unknown.machine.clear();
  EXPECT_TRUE(book.join(digest_of('a'), unknown, kInvitedAt))
      << "a machine that doesn't know which it is";
  unknown.id = "gpu-5";
  EXPECT_TRUE(book.join(digest_of('a'), unknown, kInvitedAt)) << "and another one";
}

TEST_F(NodeBookTest, ARemovedNodeIsNotTakenAndItsNameIsFree) {
  NodeBook book = joined();
  const auto removed = book.remove("gpu-3", kInvitedAt + kInvitedFor);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->serial, 1U);
  const auto refused = book.known("gpu-3", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::forbidden);
  EXPECT_EQ(refused.error().message, "Node 'gpu-3' was removed at 2025-11-20 11:55:00 UTC.");
  ASSERT_TRUE(book.invite(invitation('b')));
  EXPECT_EQ(*book.join(digest_of('b'), machine("gpu-3", '2'), kInvitedAt), 2U);
  EXPECT_TRUE(book.known("gpu-3", 2));
  EXPECT_THAT(book.known("gpu-3", 1).error().message, HasSubstr("Another machine has joined"));
  EXPECT_FALSE(book.known("gpu-3", 3)) << "of a book that is newer than this one";
}

TEST_F(NodeBookTest, OnlyWhatIsThereIsRevokedAndRemoved) {
  NodeBook book = joined();
  EXPECT_EQ(book.revoke(7).error().code, ErrorCode::not_found);
  EXPECT_EQ(book.remove("gpu-7", kInvitedAt).error().code, ErrorCode::not_found);
  EXPECT_THAT(book.known("gpu-7", 1).error().message, HasSubstr("doesn't know the node 'gpu-7'"));
  ASSERT_TRUE(book.remove("gpu-3", kInvitedAt));
  EXPECT_THAT(book.remove("gpu-3", kInvitedAt).error().message, HasSubstr("removed already"));
}

TEST_F(NodeBookTest, ANodeThatTheServerHasIsRemovedThoughTheBookWasLost) {
  NodeBook book = open();
  const auto removed = book.remove_known("gpu-3", kInvitedAt, "root");
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->removed_at, kInvitedAt);
  EXPECT_EQ(open().nodes().at("gpu-3").off_by, "root");
  EXPECT_FALSE(book.known("gpu-3", removed->serial));
  EXPECT_THAT(book.remove_known("gpu-3", kInvitedAt).error().message, HasSubstr("removed already"));
  ASSERT_TRUE(book.invite(invitation('a')));
  EXPECT_EQ(*book.join(digest_of('a'), machine("gpu-3"), kInvitedAt), removed->serial + 1);
  EXPECT_EQ(book.remove_known("gpu-3", kInvitedAt)->serial, removed->serial + 1);
}

TEST_F(NodeBookTest, KeepsWhoSaidThatAMachineIsOffUntilAnotherJoinsByItsName) {
  NodeBook book = joined();
  ASSERT_TRUE(book.remove("gpu-3", kInvitedAt));
  EXPECT_EQ(book.nodes().at("gpu-3").off_by, "");
  const auto later = book.remove("gpu-3", kInvitedAt + kInvitedFor, "root");
  ASSERT_TRUE(later) << "it may be said later";
  EXPECT_EQ(later->removed_at, kInvitedAt);
  EXPECT_EQ(open().nodes().at("gpu-3").off_by, "root");
  ASSERT_TRUE(book.join(digest_of('a'), machine("gpu-3", '2'), kInvitedAt));
  EXPECT_EQ(book.nodes().at("gpu-3").off_by, "");
  ASSERT_TRUE(book.remove("gpu-3", kInvitedAt, std::string(1'000, 'x')));
  EXPECT_EQ(book.nodes().at("gpu-3").off_by.size(), NodeBook::kOffByMax);
}

TEST_F(NodeBookTest, ForgetsWhatCanMatterNoMore) {
  NodeBook book = joined();
  ASSERT_TRUE(book.remove("gpu-3", kInvitedAt));
  auto later = invitation('b', 10);
  later.made_at = later.expires_at = kInvitedAt + kInvitedFor + NodeBook::kToldExpired;
  later.expires_at += kCertificateLifetime * 2;
  ASSERT_TRUE(book.invite(later));
  EXPECT_TRUE(book.invitations().contains(1));
  later.digest = digest_of('c');
  later.made_at += Duration{1};
  ASSERT_TRUE(book.invite(later));
  EXPECT_FALSE(book.invitations().contains(1));
  ASSERT_TRUE(book.join(digest_of('b'), machine("gpu-4"), kInvitedAt + kCertificateLifetime));
  EXPECT_TRUE(book.nodes().contains("gpu-3")) << "a certificate of it may still hold";
  ASSERT_TRUE(book.join(digest_of('b'), machine("gpu-5"),
                        kInvitedAt + kCertificateLifetime + 25 * kInvitedFor));
  EXPECT_FALSE(book.nodes().contains("gpu-3"));
}

// A server that dies here has told nobody: the machine asks again, and is answered as before.
TEST_F(NodeBookTest, NothingChangesWhereItCannotBeKept) {
  NodeBook book = joined();
  full_ = true;
  EXPECT_EQ(book.join(digest_of('a'), machine("gpu-4"), kInvitedAt).error().code,
            ErrorCode::storage);
  EXPECT_EQ(book.remove("gpu-3", kInvitedAt).error().code, ErrorCode::storage);
  EXPECT_EQ(book.invitations().at(1).uses_left, 9U);
  EXPECT_TRUE(book.known("gpu-3", 1));
  full_ = false;
  EXPECT_EQ(*book.join(digest_of('a'), machine("gpu-4"), kInvitedAt), 1U);
}

TEST_F(NodeBookTest, KeepsFromWhichBootANodeIsHeard) {
  NodeBook book = joined();
  EXPECT_EQ(book.known("gpu-3", 1)->boot, "");
  ASSERT_TRUE(book.heard("gpu-3", "boot-1"));
  EXPECT_EQ(open().known("gpu-3", 1)->boot, "boot-1");
  full_ = true;
  EXPECT_TRUE(book.heard("gpu-3", "boot-1")) << "nothing new is to be kept";
  EXPECT_EQ(book.heard("gpu-3", "boot-2").error().code, ErrorCode::storage);
  EXPECT_TRUE(book.heard("gpu-7", "boot-1")) << "of nobody";
}

TEST_F(NodeBookTest, AMachineThatJoinsAnewIsKnownByItsBootStill) {
  NodeBook book = joined();
  ASSERT_TRUE(book.heard("gpu-3", "boot-1"));
  ASSERT_TRUE(book.remove("gpu-3", kInvitedAt));
  EXPECT_EQ(*book.join(digest_of('a'), machine("gpu-3", '2'), kInvitedAt), 2U);
  EXPECT_EQ(book.known("gpu-3", 2)->boot, "boot-1");
  ASSERT_TRUE(book.remove("gpu-3", kInvitedAt));
  auto another = machine("gpu-3", '3');
  another.machine = "another";
  EXPECT_EQ(*book.join(digest_of('a'), another, kInvitedAt), 3U);
  EXPECT_EQ(book.known("gpu-3", 3)->boot, "") << "it has nothing to do with the one before";
}

// The answer may be lost with the server that gave it.
TEST_F(NodeBookTest, AServerThatStartsAnewAnswersAlike) {
  ASSERT_TRUE(joined().known("gpu-3", 1));
  NodeBook again = open();
  EXPECT_EQ(*again.join(digest_of('a'), machine("gpu-3"), kInvitedAt), 1U);
  EXPECT_EQ(again.invitations().at(1).uses_left, 9U);
  ASSERT_TRUE(again.remove("gpu-3", kInvitedAt));
  EXPECT_FALSE(open().known("gpu-3", 1)) << "a removal is kept, too";
}

}  // namespace
}  // namespace paceline
