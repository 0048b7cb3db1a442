// The secrets that a server gives to people and to machines. Whoever has one may do what it was made
// for; the server keeps its digest alone.
//
//   const Token token = Token::make_join(authority.fingerprint());
//   console.print(token.text());                 // once, to whom it is for
//   keep(token.digest());
//
//   auto shown = Token::parse(text, TokenKind::join);
//   TlsDialer({.host = host, .port = port, .authority = shown->authority()})
//
// A token is a prefix, its parts as small letters and digits (base 32, without i, l, o and u), and a
// check sum that tells one that was cut or mistyped without asking the server:
//
//   plu_ SECRET CHECK               a user's
//   plj_ SECRET FINGERPRINT CHECK   a join token: of the authority that its server is known by
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "trust/sha256.hpp"

namespace paceline {

enum class TokenKind { join, user };

class Token {
 public:
  // With 256 bits of the kernel's chance.
  static Token make_join(const Sha256& authority);
  static Token make_user();

  // Exactly what text() wrote. The errors never repeat the text. Errors: invalid.
  static Result<Token> parse(std::string_view text, TokenKind expected);

  Token(const Token&) = default;
  Token& operator=(const Token&) = default;
  // What it held is wiped.
  ~Token();

  [[nodiscard]] TokenKind kind() const { return authority_ ? TokenKind::join : TokenKind::user; }
  // The secret itself.
  [[nodiscard]] std::string text() const;
  // What is kept of it: compared with same() (trust/sha256.hpp).
  [[nodiscard]] Sha256 digest() const;
  // REQUIRES: a join token.
  [[nodiscard]] const Sha256& authority() const;

 private:
  using Secret = std::array<std::uint8_t, 32>;
  Token(const Secret& secret, const std::optional<Sha256>& authority)
      : secret_(secret), authority_(authority) {}

  Secret secret_;
  std::optional<Sha256> authority_;
};

}  // namespace paceline
