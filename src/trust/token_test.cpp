#include "trust/token.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace paceline {
namespace {

using ::testing::HasSubstr;

const Sha256 kSomeAuthority = sha256("an authority");

Error refusal_of(std::string_view text, TokenKind expected) {
  const auto token = Token::parse(text, expected);
  EXPECT_FALSE(token.has_value());
  return token ? Error{} : token.error();
}

TEST(Token, IsReadAsItWasWritten) {
  const auto join = Token::make(TokenKind::join, kSomeAuthority);
  const auto user = Token::make(TokenKind::user, kSomeAuthority);
  EXPECT_EQ(join.text().size(), 115U);
  EXPECT_EQ(user.text().size(), join.text().size());
  const auto join_again = Token::parse(join.text(), TokenKind::join);
  const auto user_again = Token::parse(user.text(), TokenKind::user);
  ASSERT_TRUE(join_again && user_again);
  EXPECT_EQ(join_again->text(), join.text());
  EXPECT_EQ(join_again->authority(), kSomeAuthority);
  EXPECT_EQ(user_again->authority(), kSomeAuthority);
  EXPECT_EQ(user_again->kind(), TokenKind::user);
  EXPECT_TRUE(same(user_again->digest(), user.digest()));
}

TEST(Token, IsAnotherEveryTime) {
  std::set<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.insert(Token::make(TokenKind::user, kSomeAuthority).text());
  EXPECT_EQ(texts.size(), 100U);
  EXPECT_FALSE(same(Token::make(TokenKind::user, kSomeAuthority).digest(),
                    Token::make(TokenKind::user, kSomeAuthority).digest()));
}

// One character wrong, two exchanged, one missing, one too many: wherever it is.
TEST(Token, ThatIsMistypedIsToldAtOnce) {
  const std::string good = Token::make(TokenKind::join, kSomeAuthority).text();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto other = good;
    other[i] = other[i] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(Token::parse(other, TokenKind::join)) << i;
    EXPECT_FALSE(Token::parse(good.substr(0, i), TokenKind::join)) << i;
    if (i == 0 || good[i] == good[i - 1]) continue;
    auto swapped = good;
    std::swap(swapped[i], swapped[i - 1]);
    EXPECT_FALSE(Token::parse(swapped, TokenKind::join)) << i;
  }
  EXPECT_FALSE(Token::parse(good + "0", TokenKind::join));
  EXPECT_FALSE(Token::parse(good + "\n", TokenKind::join));
}

TEST(Token, ThatIsNoneSaysWhy) {
  const auto user = Token::make(TokenKind::user, kSomeAuthority).text();
  EXPECT_THAT(refusal_of(user, TokenKind::join).message, HasSubstr("This is a user token."));
  EXPECT_THAT(refusal_of(user, TokenKind::join).hint, HasSubstr("begins with plj_"));
  EXPECT_THAT(refusal_of("hunter2", TokenKind::user).message, HasSubstr("begins with plu_"));
  EXPECT_THAT(refusal_of("plu_abc", TokenKind::user).message,
              HasSubstr("7 characters instead of 115"));
  auto odd = user;
  odd[20] = 'l';
  EXPECT_THAT(refusal_of(odd, TokenKind::user).message, HasSubstr("Character 21 "));
  auto upper = user;
  std::ranges::transform(upper, upper.begin(), [](char c) { return c == 'x' ? 'z' : 'x'; });
  upper.replace(0, 4, "plu_");
  EXPECT_THAT(refusal_of(upper, TokenKind::user).message, HasSubstr("mistyped"));
}

TEST(Token, IsNeverRepeatedInAnError) {
  const auto secret = Token::make(TokenKind::user, kSomeAuthority).text().substr(4, 40);
  for (const auto& text :
       {"plu_" + secret, "plj_" + secret, secret, "plu_" + secret + std::string(71, '0')}) {
    const auto error = refusal_of(text, TokenKind::user);
    EXPECT_EQ((error.message + error.hint).find(secret), std::string::npos);
  }
}

TEST(Sha256, IsTheOneThatEverybodyKnows) {
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_from_hex(to_hex(kSomeAuthority)), kSomeAuthority);
  Sha256Sum sum;
  for (const auto* piece : {"a", "", "bc"}) sum.add(piece);
  EXPECT_EQ(sum.finish(), sha256("abc"));
  EXPECT_EQ(sha256_from_hex("ab"), std::nullopt);
  EXPECT_EQ(sha256_from_hex(std::string(64, 'g')), std::nullopt);
  EXPECT_EQ(sha256_from_hex(std::string(64, 'A')), std::nullopt);
}

}  // namespace
}  // namespace paceline
