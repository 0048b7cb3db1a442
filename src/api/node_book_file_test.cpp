#include "api/node_book_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "files/temp_folder_testing.hpp"
#include "joining/node_book_testing.hpp"
#include "trust/authority.hpp"

namespace paceline {
namespace {

using testing::digest_of;
using ::testing::HasSubstr;
using testing::kInvitedAt;
using testing::kInvitedFor;
using testing::machine;

class NodeBookFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "nodes"; }
  [[nodiscard]] NodeBook open() const {
    auto book = open_node_book(file());
    EXPECT_TRUE(book) << book.error().message;
    return std::move(*book);
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
  // As an older server without sums would have written it.
  void write_changed(const std::string& from, const std::string& to) const {
    std::ifstream in(file());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    text.resize(text.find('\n') + 1);
    ASSERT_NE(text.find(from), std::string::npos) << from;
    std::ofstream(file()) << text.replace(text.find(from), from.size(), to);
    ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  }

  TempFolder folder_;
};

TEST_F(NodeBookFileTest, KeepsAllOverARestart) {
  NodeBook book = joined();
  ASSERT_TRUE(book.join(digest_of('a'), machine("gpu-4"), kInvitedAt));
  ASSERT_TRUE(book.remove("gpu-4", kInvitedAt + kInvitedFor, "root"));
  ASSERT_TRUE(book.remove_known("gpu-5", kInvitedAt, "root"));
  ASSERT_TRUE(book.heard("gpu-3", "boot-1"));
  NodeBook again = open();
  EXPECT_EQ(again.invitations(), book.invitations());
  EXPECT_EQ(again.nodes(), book.nodes());
  EXPECT_EQ(again.invitations().at(1).uses_left, 8U);
  EXPECT_TRUE(again.known("gpu-3", 1));
  EXPECT_EQ(again.invite(invitation('b'))->id, 2U);
}

// The answer may be lost on its way; the machine asks again for the same key.
TEST_F(NodeBookFileTest, WhoAsksAgainIsAnsweredAlikeAndUsesNothingUp) {
  NodeBook book = open();
  ASSERT_TRUE(book.invite(invitation('a')));
  ASSERT_TRUE(book.join(digest_of('a'), machine("gpu-3"), kInvitedAt));
  book = open();
  const auto again = book.join(digest_of('a'), machine("gpu-3"), kInvitedAt);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, 1U);
  EXPECT_EQ(book.invitations().at(1).uses_left, 0U);
  EXPECT_FALSE(book.join(digest_of('a'), machine("gpu-3", '2'), kInvitedAt)) << "another key";
  ASSERT_TRUE(book.invite(invitation('b')));
  EXPECT_FALSE(book.join(digest_of('b'), machine("gpu-3"), kInvitedAt)) << "another invitation";
}

TEST_F(NodeBookFileTest, InvitationsAreBounded) {
  NodeBook book = open();
  // Kept in one piece, so that a thousand files needn't be written.
  std::string list;
  for (std::size_t i = 1; i <= NodeBook::kInvitationsMax; ++i) {
    list += fmt::format(R"({}{{"id":{},"digest":"{}","made_at":1,"expires_at":2e9,"uses_left":1}})",
                        i == 1 ? "" : ",", i, i);
  }
  std::ofstream(file()) << fmt::format(
      R"({{"last_invitation":1000,"invitations":[{}],"nodes":[]}})", list);
  ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  book = open();
  ASSERT_EQ(book.invitations().size(), NodeBook::kInvitationsMax);
  const auto refused = book.invite(invitation('a'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  ASSERT_TRUE(book.revoke(1));
  EXPECT_EQ(book.invite(invitation('a'))->id, 1001U);
}

TEST_F(NodeBookFileTest, NodesAreBounded) {
  std::string list;
  for (std::size_t i = 0; i < NodeBook::kNodesMax; ++i) {
    list += fmt::format(R"({}{{"id":"n{}","key":"1","serial":1,"invitation":1,"joined_at":1}})",
                        i == 0 ? "" : ",", i);
  }
  ASSERT_TRUE(open().invite(invitation('a', 10)));
  write_changed(R"("nodes":[])", fmt::format(R"("nodes":[{}])", list));
  NodeBook book = open();
  ASSERT_EQ(book.nodes().size(), NodeBook::kNodesMax);
  EXPECT_EQ(book.join(digest_of('a'), machine("gpu-3"), kInvitedAt).error().code,
            ErrorCode::conflict);
  ASSERT_TRUE(book.remove("n7", kInvitedAt));
  EXPECT_EQ(*book.join(digest_of('a'), machine("n7"), kInvitedAt), 2U);
}

TEST_F(NodeBookFileTest, AFullBookForgetsTheNodeThatWasRemovedLongestAgo) {
  std::string list;
  for (std::size_t i = 0; i < NodeBook::kNodesMax; ++i) {
    list += fmt::format(
        R"({}{{"id":"n{}","key":"1","serial":3,"invitation":1,"joined_at":1,"removed_at":{}}})",
        i == 0 ? "" : ",", i, i == 7 ? 1'763'636'000 : 1'763'636'001);
  }
  ASSERT_TRUE(open().invite(invitation('a', 10)));
  write_changed(R"("nodes":[])", fmt::format(R"("nodes":[{}])", list));
  NodeBook book = open();
  EXPECT_EQ(*book.join(digest_of('a'), machine("gpu-3"), kInvitedAt), 1U);
  EXPECT_FALSE(book.nodes().contains("n7"));
  EXPECT_EQ(book.nodes().size(), NodeBook::kNodesMax);
  book = open();
  EXPECT_EQ(*book.join(digest_of('a'), machine("n7"), kInvitedAt), 4U)
      << "certificates of the one before may hold still";
  EXPECT_FALSE(book.known("n7", 3));
}

// A server that dies here has told nobody: the machine asks again, and is answered as before.
TEST_F(NodeBookFileTest, NothingChangesWhereItCannotBeKept) {
  NodeBook book = joined();
  const auto before = book.nodes();
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(book.invite(invitation('b')).error().code, ErrorCode::storage);
  EXPECT_EQ(book.revoke(1).error().code, ErrorCode::storage);
  EXPECT_EQ(book.join(digest_of('a'), machine("gpu-4"), kInvitedAt).error().code,
            ErrorCode::storage);
  EXPECT_EQ(book.remove("gpu-3", kInvitedAt).error().code, ErrorCode::storage);
  EXPECT_EQ(book.nodes(), before);
  EXPECT_EQ(book.invitations().at(1).uses_left, 9U);
  EXPECT_TRUE(book.known("gpu-3", 1));
  EXPECT_FALSE(book.invitation(digest_of('b'), kInvitedAt));
}

TEST_F(NodeBookFileTest, WhatDoesNotFitTogetherIsRefused) {
  const std::pair<std::string, std::string> changes[] = {
      {R"("last_invitation":1)", R"("last_invitation":0)"},
      {R"("uses_left":9)", R"("uses_left":-1)"},
      {R"("serial":1)", R"("serial":0)"},
      {R"("id":"gpu-3")", R"("id":"gpu 3")"},
      {R"("nodes":[)", R"("nodes":[7,)"},
      {R"("labels":{"disk":"nvme"})", R"("labels":{"di sk":"nvme"})"},
      {R"("removed_at")", R"("removed")"},
  };
  for (const auto& [from, to] : changes) {
    std::filesystem::remove(file());
    (void)joined();
    write_changed(from, to);
    const auto read = open_node_book(file());
    ASSERT_FALSE(read) << to;
    EXPECT_EQ(read.error().code, ErrorCode::data);
    EXPECT_THAT(read.error().hint, HasSubstr("paceline node invite"));
  }
}

}  // namespace
}  // namespace paceline
