// The tokens by which people on other machines are known, as the server keeps them: of the secret
// nothing but its digest. One file, replaced as a whole before anybody hears of a change.
//
//   auto book = TokenBook::open(dir / "tokens");
//   auto made = book->add({.user = "ann", .role = Role::user, .digest = digest, …});
//   const IssuedToken* token = book->find(digest, now);   // nullptr: unknown, revoked or expired
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/book_file.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "model/principal.hpp"

namespace paceline {

struct IssuedToken {
  std::uint32_t id = 0;  // never given twice
  std::string user = {};
  Role role = Role::user;
  std::string digest = {};   // of the secret, in hexadecimal
  std::string made_by = {};  // a login name
  WallTime made_at = {};
  std::optional<WallTime> expires_at = {};  // nothing: never

  friend bool operator==(const IssuedToken&, const IssuedToken&) = default;
};

class TokenBook {
 public:
  static constexpr std::size_t kTokensMax = 10'000;
  static constexpr std::size_t kUserBytesMax = 256;
  // An expired one is told of for so long.
  static constexpr Duration kToldExpired = std::chrono::hours{24 * 30};

  // Errors: data: it is damaged; those of read_private().
  static Result<TokenBook> open(std::filesystem::path file);

  // Gives it an id. Errors: conflict: there are too many; storage.
  Result<IssuedToken> add(IssuedToken token);
  // It is nobody's from now on. Errors: not_found; storage.
  Result<IssuedToken> revoke(std::uint32_t id);

  // The one of that digest; nullptr: there is none, or it has expired.
  [[nodiscard]] const IssuedToken* find(std::string_view digest, WallTime now) const;
  [[nodiscard]] const std::map<std::uint32_t, IssuedToken>& all() const { return tokens_; }

 private:
  explicit TokenBook(std::filesystem::path file);

  Result<void> read(const Json& json);
  [[nodiscard]] std::string text() const;

  BookFile file_;
  std::uint32_t last_id_ = 0;
  std::map<std::uint32_t, IssuedToken> tokens_;
  std::map<std::string, std::uint32_t, std::less<>> by_digest_;
};

}  // namespace paceline
