// The secrets that a server gives to people and to machines. Whoever has one may do what it was made
// for; the server keeps its digest alone.
//
//   const Token token = Token::make(TokenKind::join, authority.fingerprint());
//   console.print(token.text());                 // once, to whom it is for
//   keep(token.digest());
//
//   auto shown = Token::parse(text, TokenKind::join);
//   TlsDialer({.host = host, .port = port, .authority = shown->authority()})
//
// A token is a prefix, its parts as small letters and digits (base 32, without i, l, o and u), and a
// check sum that tells one that was cut or mistyped without asking the server. The fingerprint is of
// the authority that its server is known by: whoever has a token knows the server at once.
//
//   plu_ SECRET FINGERPRINT CHECK   a user's
//   plj_ SECRET FINGERPRINT CHECK   a machine's, to join by
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "trust/sha256.hpp"

namespace paceline {

enum class TokenKind { join, user };

class Token {
 public:
  // With 256 bits of the kernel's chance.
  static Token make(TokenKind kind, const Sha256& authority);

  // Exactly what text() wrote. The errors never repeat the text. Errors: invalid.
  static Result<Token> parse(std::string_view text, TokenKind expected);

  Token(const Token&) = default;
  Token& operator=(const Token&) = default;
  // What it held is wiped.
  ~Token();

  [[nodiscard]] TokenKind kind() const { return kind_; }
  // The secret itself.
  [[nodiscard]] std::string text() const;
  // What is kept of it: compared with same() (trust/sha256.hpp).
  [[nodiscard]] Sha256 digest() const;
  [[nodiscard]] const Sha256& authority() const { return authority_; }

 private:
  using Secret = std::array<std::uint8_t, 32>;
  Token(TokenKind kind, const Secret& secret, const Sha256& authority)
      : kind_(kind), secret_(secret), authority_(authority) {}

  TokenKind kind_;
  Secret secret_;
  Sha256 authority_;
};

}  // namespace paceline
