// Who asks, and the tokens by which people on other machines are known.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/context.hpp"
#include "api/token_book.hpp"
#include "http/query.hpp"
#include "trust/token.hpp"
#include "wire/json.hpp"
#include "wire/words.hpp"

namespace paceline {
namespace {

constexpr Duration kLifetimeMax = std::chrono::hours{10 * 365 * 24};

Result<std::string> show_caller(ApiContext& context, const Principal& by) {
  if (auto known = context.is_known(by, ApiContext::Needs::account_and_name); !known)
    return fail(std::move(known.error()));
  JsonWriter json;
  json.begin_object().field("user", by.user).field("uid", by.uid).key("roles").begin_array();
  for (const auto role : by.roles) json.value(to_string(role));
  json.end_array().field("known_by", to_string(by.known_by)).end_object();
  return json.take();
}

Result<TokenBook*> book(const ApiContext& context) {
  if (context.options.remote) return context.options.remote->tokens;
  return fail(ErrorCode::conflict, "This server serves no other machines, so tokens are of no use.",
              "Start it with 'paceline up --listen ADDR:PORT'.");
}

void write_token(JsonWriter& json, const IssuedToken& token, WallTime now) {
  json.field("id", token.id).field("user", token.user).field("role", to_string(token.role));
  json.field("made_by", token.made_by).field("made_at", token.made_at);
  json.field("expires_at", token.expires_at);
  json.field("expired", token.expires_at && *token.expires_at <= now);
}

// Jobs of a server that isn't root's run as its own user, so nobody else can have any.
Result<void> check_own_user(ApiContext& context, const IssuedToken& token) {
  const auto own = context.user_name(context.options.uid);
  if (!own) return fail(own.error());
  if (token.user == *own) return {};
  return fail(ErrorCode::invalid, fmt::format("This server runs jobs as {} alone.", *own),
              fmt::format("Make the token for {}, or with --role viewer.", *own));
}

// Whom a token can be for.
Result<void> check_user(ApiContext& context, const IssuedToken& token) {
  if (token.role == Role::viewer) return {};
  if (!context.shared()) return check_own_user(context, token);
  const auto login = context.login(token.user);
  if (!login) return fail(login.error());
  if (!*login)
    return fail(ErrorCode::invalid,
                fmt::format("There is no account '{}' on this machine.", token.user),
                "Make the account first; jobs run as their owner. A viewer needs none.");
  if ((*login)->uid == 0)
    return fail(ErrorCode::invalid, "Nobody is root from another machine.",
                "Name another account; --role admin lets it do what root may do here.");
  return {};
}

Result<IssuedToken> read_wish(ApiContext& context, const HttpRequest& request) {
  const auto json = parse_json(request.body);
  if (!json) return fail(json.error());
  IssuedToken token;
  std::string role;
  std::optional<Duration> lifetime;
  ObjectReader reader(*json, "body");
  reader.require({"user", "role"}).text("user", token.user, TokenBook::kUserBytesMax);
  reader.text("role", role, 16).seconds("expires_seconds", lifetime);
  const auto known = parse_word<Role>(role);
  if (reader.ok() && (!known || *known > kLastRoleOfPeople))
    reader.refuse({ErrorCode::invalid, fmt::format("There is no role '{}'.", role),
                   "The roles are viewer, user, operator and admin.", Retry::useless});
  if (reader.ok() && lifetime && (*lifetime <= Duration{} || *lifetime > kLifetimeMax))
    reader.refuse({ErrorCode::invalid, "A token lives for at most ten years.",
                   "Make one for a shorter time; null: it never expires.", Retry::useless});
  if (auto read = reader.finish(); !read) return fail(std::move(read.error()));
  token.role = *known;
  token.made_at = context.wall_now();
  if (lifetime) token.expires_at = token.made_at + *lifetime;
  if (auto ok = check_user(context, token); !ok) return fail(std::move(ok.error()));
  return token;
}

Result<HttpResponse> make_token(ApiContext& context, const HttpRequest& request,
                                const Principal& by) {
  const auto tokens = book(context);
  if (!tokens) return fail(tokens.error());
  auto wish = read_wish(context, request);
  if (!wish) return fail(std::move(wish.error()));
  const auto secret = Token::make(TokenKind::user, context.options.remote->authority);
  wish->digest = to_hex(secret.digest());
  wish->made_by = by.user;
  const auto made = (*tokens)->add(std::move(*wish));
  if (!made) return fail(made.error());
  spdlog::info("{} made token {} for {} ({}).", by.user, made->id, made->user,
               to_string(made->role));
  JsonWriter json;
  json.begin_object();
  write_token(json, *made, made->made_at);
  json.field("token", secret.text()).field("address", context.options.remote->address).end_object();
  return HttpResponse{.status = 201, .body = json.take()};
}

Result<std::string> list_tokens(ApiContext& context) {
  const auto tokens = book(context);
  if (!tokens) return fail(tokens.error());
  JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const auto& [id, token] : (*tokens)->all()) {
    json.begin_object();
    write_token(json, token, context.wall_now());
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

Result<std::string> revoke_token(ApiContext& context, const HttpRequest& request,
                                 const Principal& by) {
  const auto tokens = book(context);
  if (!tokens) return fail(tokens.error());
  const auto& word = request.ids.at(0);
  const auto id = parse_whole(word, 1, std::numeric_limits<std::uint32_t>::max());
  if (!id)
    return fail(ErrorCode::invalid, "A token is named by its number.",
                "'paceline token list' shows them.");
  const auto gone = (*tokens)->revoke(static_cast<std::uint32_t>(*id));
  if (!gone) return fail(gone.error());
  spdlog::info("{} revoked token {} of {}.", by.user, gone->id, gone->user);
  JsonWriter json;
  json.begin_object();
  write_token(json, *gone, context.wall_now());
  json.end_object();
  return json.take();
}

}  // namespace

void add_token_routes(Routes& routes, const SharedContext& context) {
  routes.add("GET", "/v1/whoami", Action::see,
             answering([context](const HttpRequest&, const Principal& by) {
               return show_caller(*context, by);
             }));
  routes.add("GET", "/v1/tokens", Action::give_tokens,
             answering([context](const HttpRequest&) { return list_tokens(*context); }));
  routes.add("POST", "/v1/tokens", Action::give_tokens,
             [context](const std::shared_ptr<Exchange>& exchange, const Principal& by) {
               auto made = make_token(*context, exchange->request(), by);
               if (!made) return exchange->refuse(made.error());
               exchange->reply(std::move(*made));
             });
  routes.add("DELETE", "/v1/tokens/{token}", Action::give_tokens,
             answering([context](const HttpRequest& request, const Principal& by) {
               return revoke_token(*context, request, by);
             }));
}

}  // namespace paceline
