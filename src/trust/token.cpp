#include "trust/token.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <optional>

#include "base/check.hpp"
#include "trust/openssl_library.hpp"

namespace paceline {
namespace {

constexpr std::string_view kJoinPrefix = "plj_";
constexpr std::string_view kUserPrefix = "plu_";
constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr unsigned kDigitBits = 5;
constexpr unsigned kByteBits = 8;
constexpr std::size_t kCheckDigits = 7;
constexpr std::size_t kPartDigits = 52;  // 256 bits, and four that are 0
constexpr std::size_t kTokenBytes = kUserPrefix.size() + 2 * kPartDigits + kCheckDigits;
static_assert(kJoinPrefix.size() == kUserPrefix.size());

using Part = std::array<std::uint8_t, 32>;

std::array<std::uint8_t, 32> chance() {
  std::array<std::uint8_t, 32> bytes{};
  check(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
        "the kernel gives chance");
  return bytes;
}

// The first so many digits of the bits.
std::string in_digits(const Part& part, std::size_t count) {
  std::string text;
  unsigned bits = 0, value = 0;
  for (std::size_t next = 0; text.size() < count;) {
    if (bits < kDigitBits) {
      value = (value << kByteBits | (next < part.size() ? part[next] : 0U)) & 0xfff;
      bits += kByteBits;
      ++next;
    }
    bits -= kDigitBits;
    text += kDigits[value >> bits & 31U];
  }
  return text;
}

// Nothing: in_digits() writes no such text. REQUIRES: kPartDigits digits.
std::optional<Part> from_digits(std::string_view text) {
  Part part{};
  unsigned bits = 0, value = 0;
  std::size_t next = 0;
  for (const char c : text) {
    value = (value << kDigitBits | static_cast<unsigned>(kDigits.find(c))) & 0xfff;
    bits += kDigitBits;
    if (bits < kByteBits) continue;
    bits -= kByteBits;
    part[next++] = static_cast<std::uint8_t>(value >> bits);
  }
  if ((value & ((1U << bits) - 1)) != 0) return std::nullopt;
  return part;
}

std::string check_digits(std::string_view text) { return in_digits(sha256(text), kCheckDigits); }

std::string_view prefix_of(TokenKind kind) {
  return kind == TokenKind::join ? kJoinPrefix : kUserPrefix;
}

std::string_view called(TokenKind kind) { return kind == TokenKind::join ? "join" : "user"; }

tl::unexpected<Error> no_token(std::string message) {
  return fail(ErrorCode::invalid, std::move(message), "Copy the whole token once more.");
}

Result<void> check_form(std::string_view text, TokenKind expected) {
  const auto other = expected == TokenKind::join ? TokenKind::user : TokenKind::join;
  if (text.starts_with(prefix_of(other))) {
    return fail(
        ErrorCode::invalid, fmt::format("This is a {} token.", called(other)),
        fmt::format("Use a {} token: it begins with {}.", called(expected), prefix_of(expected)));
  }
  if (!text.starts_with(prefix_of(expected))) {
    return no_token(fmt::format("This is not a {} token: one begins with {}.", called(expected),
                                prefix_of(expected)));
  }
  if (text.size() != kTokenBytes) {
    return no_token(
        fmt::format("The token has {} characters instead of {}.", text.size(), kTokenBytes));
  }
  const auto digits = text.substr(prefix_of(expected).size());
  const auto wrong = digits.find_first_not_of(kDigits);
  if (wrong != std::string_view::npos) {
    return no_token(fmt::format("Character {} of the token is none that stands in tokens.",
                                prefix_of(expected).size() + wrong + 1));
  }
  const auto body = text.substr(0, text.size() - kCheckDigits);
  if (check_digits(body) != text.substr(body.size()))
    return no_token("The token is mistyped: its check sum does not fit.");
  return {};
}

}  // namespace

Token Token::make(TokenKind kind, const Sha256& authority) { return {kind, chance(), authority}; }

Token::~Token() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

Result<Token> Token::parse(std::string_view text, TokenKind expected) {
  if (auto good = check_form(text, expected); !good) return fail(std::move(good.error()));
  text.remove_prefix(prefix_of(expected).size());
  const auto secret = from_digits(text.substr(0, kPartDigits));
  const auto authority = from_digits(text.substr(kPartDigits, kPartDigits));
  if (!secret || !authority) return no_token("This is not a token that Paceline made.");
  return Token(expected, *secret, *authority);
}

std::string Token::text() const {
  const auto text = std::string(prefix_of(kind_)) + in_digits(secret_, kPartDigits) +
                    in_digits(authority_, kPartDigits);
  return text + check_digits(text);
}

Sha256 Token::digest() const { return sha256(text()); }

}  // namespace paceline
