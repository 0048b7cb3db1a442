#include "api/token_book.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "http/testing.hpp"

namespace paceline {
namespace {

constexpr WallTime kNow = wall_from_us(1'763'636'100'000'000);
constexpr Duration kDay = std::chrono::hours{24};

std::string digest(char c) { return std::string(64, c); }

class TokenBookTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "tokens"; }
  [[nodiscard]] TokenBook open() const {
    auto book = TokenBook::open(file());
    EXPECT_TRUE(book) << book.error().message;
    return std::move(*book);
  }
  static IssuedToken token(char c, std::optional<WallTime> ends = {}) {
    return {.user = "ann",
            .role = Role::operator_,
            .digest = digest(c),
            .made_by = "root",
            .made_at = kNow,
            .expires_at = ends};
  }
  // Without its sum, as an older server's.
  [[nodiscard]] std::string text() const {
    std::ifstream in(file());
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    return whole.substr(0, whole.find('\n') + 1);
  }
  void write(std::string_view text) const {
    std::ofstream(file()) << text;
    ASSERT_EQ(::chmod(file().c_str(), 0600), 0);
  }

  TempFolder folder_;
};

TEST_F(TokenBookTest, KeepsTokensOverARestart) {
  TokenBook book = open();
  const auto first = book.add(token('a', kNow + 90 * kDay));
  const auto second = book.add(token('b'));
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->id, 1U);
  EXPECT_EQ(second->id, 2U);
  const TokenBook again = open();
  EXPECT_EQ(again.all(), book.all());
  ASSERT_NE(again.find(digest('a'), kNow), nullptr);
  EXPECT_EQ(*again.find(digest('a'), kNow), *first);
  EXPECT_EQ(again.find(digest('c'), kNow), nullptr);
}

TEST_F(TokenBookTest, AnExpiredOneIsNobodys) {
  TokenBook book = open();
  ASSERT_TRUE(book.add(token('a', kNow + kDay)));
  EXPECT_NE(book.find(digest('a'), kNow + kDay - Duration{1}), nullptr);
  EXPECT_EQ(book.find(digest('a'), kNow + kDay), nullptr);
  EXPECT_EQ(book.all().size(), 1U) << "it is still told of";
}

TEST_F(TokenBookTest, ARevokedOneIsGoneForEver) {
  TokenBook book = open();
  ASSERT_TRUE(book.add(token('a')));
  ASSERT_TRUE(book.add(token('b')));
  ASSERT_TRUE(book.revoke(2));
  EXPECT_EQ(book.find(digest('b'), kNow), nullptr);
  EXPECT_EQ(book.revoke(2).error().code, ErrorCode::not_found);
  TokenBook again = open();
  EXPECT_EQ(again.find(digest('b'), kNow), nullptr);
  EXPECT_EQ(again.add(token('c'))->id, 3U) << "no number is given twice";
}

TEST_F(TokenBookTest, ForgetsThoseThatExpiredLongAgo) {
  TokenBook book = open();
  ASSERT_TRUE(book.add(token('a', kNow + kDay)));
  auto later = token('b');
  later.made_at = kNow + kDay + TokenBook::kToldExpired;
  ASSERT_TRUE(book.add(later));
  EXPECT_EQ(book.all().size(), 2U);
  later.digest = digest('c');
  later.made_at += Duration{1};
  ASSERT_TRUE(book.add(later));
  EXPECT_FALSE(book.all().contains(1));
}

TEST_F(TokenBookTest, NothingChangesWhereItCannotBeKept) {
  TokenBook book = open();
  ASSERT_TRUE(book.add(token('a')));
  std::filesystem::remove_all(folder_.path());
  EXPECT_EQ(book.add(token('b')).error().code, ErrorCode::storage);
  EXPECT_EQ(book.revoke(1).error().code, ErrorCode::storage);
  EXPECT_EQ(book.find(digest('b'), kNow), nullptr);
  EXPECT_NE(book.find(digest('a'), kNow), nullptr);
}

TEST_F(TokenBookTest, NoSecretAndNobodyElseReadsIt) {
  TokenBook book = open();
  ASSERT_TRUE(book.add(token('a')));
  struct stat info {};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

// Whatever is not what was written is refused as a whole: one token less would let nobody in who
// should be, one more somebody who shouldn't.
TEST_F(TokenBookTest, DamageIsRefusedWithASentence) {
  TokenBook book = open();
  ASSERT_TRUE(book.add(token('a')));
  ASSERT_TRUE(book.add(token('b', kNow)));
  const auto whole = text();
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    write(whole.substr(0, size));
    const auto read = TokenBook::open(file());
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, ErrorCode::data);
  }
  const std::pair<std::string, std::string> changes[] = {
      {"\"operator\"", "\"king\""},       {"\"operator\"", "\"node\""},
      {"\"last_id\":2", "\"last_id\":1"}, {"\"id\":2", "\"id\":1"},
      {digest('b'), digest('a')},         {"\"user\"", "\"usr\""},
  };
  for (const auto& [from, to] : changes) {
    auto changed = whole;
    changed.replace(changed.find(from), from.size(), to);
    write(changed);
    EXPECT_FALSE(TokenBook::open(file())) << to;
  }
}

}  // namespace
}  // namespace paceline
