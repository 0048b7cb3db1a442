// The tokens that a server gives to people on other machines.
#include <fmt/format.h>

#include <limits>

#include "cli/commands/command.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"
#include "wire/json_writer.hpp"

namespace paceline {
namespace {

constexpr std::string_view kTokens = "/v1/tokens";
constexpr std::string_view kUsualLifetime = "90d";
constexpr std::string_view kNever = "never";

struct TokenWords {
  std::optional<std::string> user, role, expires;
};

std::string day_of(const Document& token, std::string_view key) {
  const auto at = number_of(token, key);
  return at ? utc_time(*at).substr(0, 10) : std::string(kNever);
}

std::string draw_tokens(const Document& answer, const Output& output, const Console& console) {
  std::string ids;
  Table table({{"ID", Align::right},
               {"USER", Align::left, 8},
               {"ROLE"},
               {"MADE", Align::left, 0, 2},
               {"BY", Align::left, 0, 1},
               {"EXPIRES"}});
  for (const auto& token : list_of(answer, "tokens")) {
    const auto id = std::to_string(whole_of(token, "id"));
    ids += id + "\n";
    const bool expired = flag_of(token, "expired");
    table.add(
        {{id},
         {text_of(token, "user")},
         {text_of(token, "role")},
         {day_of(token, "made_at")},
         {text_of(token, "made_by")},
         {expired ? "expired" : day_of(token, "expires_at"), expired ? Style::dim : Style::plain}});
  }
  return output.format == Format::name ? ids : table.render(console.look(output.header));
}

Result<std::string> wish_of(const TokenWords& typed) {
  if (!typed.user)
    return fail(ErrorCode::invalid, "Whom is the token for?",
                "Name their account: 'paceline token create --user ann'.");
  JsonWriter json;
  json.begin_object().field("user", *typed.user).field("role", typed.role.value_or("user"));
  const auto expires = typed.expires.value_or(std::string(kUsualLifetime));
  if (expires != kNever) {
    const auto lifetime = parse_duration(expires);
    if (!lifetime)
      return fail(ErrorCode::invalid, "--expires: " + lifetime.error().message,
                  lifetime.error().hint);
    json.field("expires_seconds", *lifetime);
  }
  json.end_object();
  return json.take();
}

// The token alone goes to standard output, so that it can be kept by a pipe.
Result<int> create(Context& context, const TokenWords& typed) {
  const auto wish = wish_of(typed);
  if (!wish) return fail(wish.error());
  const auto api = context.api();
  if (!api) return fail(api.error());
  const auto made = (*api)->post(std::string(kTokens), *wish);
  if (!made) return fail(made.error());
  context.console.note(fmt::format(
      "Token {} for {} ({}), until {}. It is shown this once; on the other machine they type: "
      "paceline login {}",
      whole_of(*made, "id"), text_of(*made, "user"), text_of(*made, "role"),
      day_of(*made, "expires_at"), text_of(*made, "address")));
  context.console.print(text_of(*made, "token") + "\n");
  return 0;
}

Result<int> revoke(Context& context, const std::vector<std::string>& ids) {
  return for_each_word(context, ids, [&](Api& api, const std::string& id) -> Result<int> {
    if (!parse_whole(id, {1, std::numeric_limits<std::uint32_t>::max()}))
      return fail(ErrorCode::invalid, fmt::format("'{}' is not a token's number.", id),
                  "'paceline token list' shows them.");
    const auto gone = api.remove(fmt::format("{}/{}", kTokens, id));
    if (!gone) return fail(gone.error());
    context.console.print(fmt::format("Token {} of {} is revoked.\n", id, text_of(*gone, "user")));
    return 0;
  });
}

}  // namespace

Command token_create_command() {
  return {"token create",
          "",
          "Elsewhere",
          "Make a token by which somebody can use this server from another machine",
          "paceline token create --user ann\n"
          "paceline token create --user ops --role operator --expires 30d > token.txt",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<TokenWords>();
            options.value("--user", "NAME", typed->user, "the account that their jobs run as");
            options.value("--role", "ROLE", typed->role, "viewer, user, operator or admin (user)");
            options.value("--expires", "TIME", typed->expires,
                          "how long it is good: 30d; or never (90d)");
            return [typed](Context& context) { return create(context, *typed); };
          }};
}

Command token_list_command() {
  return view_command({"token list",
                       "",
                       "Elsewhere",
                       "List the tokens that were made",
                       "paceline token list\npaceline token list -o json",
                       {}},
                      kTokens, draw_tokens);
}

Command token_revoke_command() {
  return {"token revoke",
          "",
          "Elsewhere",
          "Make a token worthless",
          "paceline token revoke 3",
          [](Options& options) -> Action {
            const auto ids = std::make_shared<std::vector<std::string>>();
            options.words("ID", *ids, Count::some, "numbers of tokens");
            return [ids](Context& context) { return revoke(context, *ids); };
          }};
}

}  // namespace paceline
