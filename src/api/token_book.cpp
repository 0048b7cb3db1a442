#include "api/token_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "wire/json.hpp"
#include "wire/json_writer.hpp"
#include "wire/words.hpp"

namespace paceline {
namespace {

Result<IssuedToken> read_token(const Json& json) {
  IssuedToken token;
  std::string role;
  std::optional<WallTime> made_at;
  ObjectReader reader(json, "a token");
  reader.require({"id", "user", "role", "digest", "made_at"});
  reader.whole("id", token.id, 1, std::numeric_limits<std::uint32_t>::max());
  reader.text("user", token.user, TokenBook::kUserBytesMax).text("role", role, 16);
  reader.text("digest", token.digest, kDigestBytes);
  reader.text("made_by", token.made_by, TokenBook::kUserBytesMax);
  reader.time("made_at", made_at).time("expires_at", token.expires_at);
  const auto known = parse_word<Role>(role);
  if (!known || *known > kLastRoleOfPeople)
    reader.refuse({ErrorCode::invalid, fmt::format("There is no role '{}'.", role), {}, {}});
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  token.role = *known;
  token.made_at = *made_at;
  return token;
}

}  // namespace

TokenBook::TokenBook(std::filesystem::path file)
    : file_(std::move(file), {.what = "tokens", .remedy = "make new tokens"}) {}

Result<TokenBook> TokenBook::open(std::filesystem::path file) {
  TokenBook book(std::move(file));
  const auto read = book.file_.load([&](const Json& json) { return book.read(json); });
  if (!read) return fail(read.error());
  return book;
}

Result<void> TokenBook::read(const Json& json) {
  ObjectReader reader(json, "the file");
  reader.require({"last_id", "tokens"});
  reader.whole("last_id", last_id_, 0, std::numeric_limits<std::uint32_t>::max());
  const auto* tokens = reader.find("tokens");
  if (auto ok = reader.finish(); !ok) return ok;
  if (!tokens->is_array()) return fail(ErrorCode::invalid, "'tokens' in the file must be a list.");
  for (const auto& each : *tokens) {
    auto token = read_token(each);
    if (!token) return fail(std::move(token.error()));
    const auto id = token->id;
    const bool fresh = by_digest_.emplace(token->digest, id).second;
    if (!fresh || id > last_id_ || !tokens_.emplace(id, std::move(*token)).second)
      return fail(ErrorCode::invalid, fmt::format("The token {} stands there wrongly.", id));
  }
  return {};
}

std::string TokenBook::text() const {
  JsonWriter json;
  json.begin_object().field("last_id", last_id_).key("tokens").begin_array();
  for (const auto& [id, token] : tokens_) {
    json.begin_object().field("id", id).field("user", token.user);
    json.field("role", to_string(token.role)).field("digest", token.digest);
    json.field("made_by", token.made_by).field("made_at", token.made_at);
    json.field("expires_at", token.expires_at).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

Result<IssuedToken> TokenBook::add(IssuedToken token) {
  TokenBook next = *this;
  std::erase_if(next.tokens_, [&](const auto& each) {
    const auto& ends = each.second.expires_at;
    const bool gone = ends && *ends + kToldExpired < token.made_at;
    if (gone) next.by_digest_.erase(each.second.digest);
    return gone;
  });
  if (next.tokens_.size() >= kTokensMax)
    return fail(ErrorCode::conflict, fmt::format("There are {} tokens.", kTokensMax),
                "Revoke some: 'paceline token list' shows them.");
  token.id = ++next.last_id_;
  next.by_digest_.emplace(token.digest, token.id);
  next.tokens_.emplace(token.id, token);
  if (auto kept = file_.save(next.text()); !kept) return fail(std::move(kept.error()));
  *this = std::move(next);
  return token;
}

Result<IssuedToken> TokenBook::revoke(std::uint32_t id) {
  TokenBook next = *this;
  auto found = next.tokens_.extract(id);
  if (!found)
    return fail(ErrorCode::not_found, fmt::format("There is no token {}.", id),
                "'paceline token list' shows them.");
  next.by_digest_.erase(found.mapped().digest);
  if (auto kept = file_.save(next.text()); !kept) return fail(std::move(kept.error()));
  *this = std::move(next);
  return std::move(found.mapped());
}

const IssuedToken* TokenBook::find(std::string_view digest, WallTime now) const {
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end()) return nullptr;
  const IssuedToken& token = tokens_.at(found->second);
  return token.expires_at && *token.expires_at <= now ? nullptr : &token;
}

}  // namespace paceline
