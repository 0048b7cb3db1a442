#include <fmt/format.h>

#include <algorithm>

#include "cli/client/contexts.hpp"
#include "cli/client/interrupt.hpp"
#include "cli/client/secret_input.hpp"
#include "cli/commands/command.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/text.hpp"
#include "trust/token.hpp"

namespace paceline {
namespace {

struct LoginWords {
  std::vector<std::string> words;
  std::optional<std::string> token_file, name;
};

// "gpu-box" of "gpu-box:7443"; brackets of an IPv6 address aside.
std::string host_of(const std::string& address) {
  auto host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::ranges::replace(host, ':', '-');
  return host;
}

// "ann (user)"
std::string called(const Document& who) {
  std::vector<std::string> roles;
  for (const auto& role : list_of(who, "roles")) roles.push_back(role.get<std::string>());
  return fmt::format("{} ({})", text_of(who, "user"), listed(roles));
}

std::string greeting(const Document& who, const std::string& name, const std::string& address) {
  return fmt::format(
      "You are {} at {}. Commands go there from now on, as context '{}'; 'paceline context use "
      "local' goes back to this machine's server.\n",
      called(who), address, name);
}

// The name that a host gives is not taken from another server of that host: the token for that is kept
// there alone.
Result<void> check_free(const Contexts& contexts, const LoginWords& typed, const std::string& name,
                        const std::string& address) {
  const auto known = contexts.servers.find(name);
  if (typed.name || known == contexts.servers.end() || known->second.address == address) return {};
  return fail(ErrorCode::conflict,
              fmt::format("The context '{}' is the server at {}.", name, known->second.address),
              fmt::format("Name another one with --name; '--name {}' replaces it.", name));
}

Result<int> log_in(Context& context, const LoginWords& typed) {
  std::string address = typed.words.front();
  constexpr std::string_view kScheme = "https://";
  if (address.starts_with(kScheme)) address.erase(0, kScheme.size());
  const auto name = typed.name.value_or(host_of(address));
  if (auto ok = check_context_name(name); !ok) {
    ok.error().hint = "Name it with --name. " + ok.error().hint;
    return fail(ok.error());
  }
  auto contexts = Contexts::read(context.environment);
  if (!contexts) return fail(contexts.error());
  if (auto ok = check_free(*contexts, typed, name, address); !ok) return fail(ok.error());
  const auto token =
      typed.token_file
          ? read_secret_file(context.console, *typed.token_file)
          : ask_secret(context.console,
                       fmt::format("Paste the token for {}; nothing of it is shown.", address));
  if (!token) return fail(token.error());
  const RemoteServer server{address, *token};
  if (const auto good = Token::parse(server.token, TokenKind::user); !good)
    return fail(good.error());
  auto way = address_of(server, &Interrupt::fd);
  if (!way) return fail(std::move(way.error()));
  const auto who = Api(std::move(*way)).get("/v1/whoami");
  if (!who) return fail(who.error());
  contexts->servers.insert_or_assign(name, server);
  contexts->current = name;
  if (auto kept = contexts->write(context.environment); !kept) return fail(kept.error());
  context.console.print(greeting(*who, name, address));
  return 0;
}

}  // namespace

Command login_command() {
  return {
      "login",
      "",
      "Elsewhere",
      "Use a server on another machine, by a token that its administrator made",
      "paceline login gpu-box:7443\npaceline login gpu-box:7443 --token-file token.txt --name lab",
      [](Options& options) -> Action {
        const auto typed = std::make_shared<LoginWords>();
        options.value("--token-file", "FILE", typed->token_file,
                      "where the token is; '-' is standard input (asked for)");
        options.value("--name", "NAME", typed->name, "what the context is called (the host)");
        options.words("ADDR:PORT", typed->words, Count::one, "where the server listens");
        return [typed](Context& context) { return log_in(context, *typed); };
      }};
}

Command whoami_command() {
  return view_command({"whoami",
                       "",
                       "Elsewhere",
                       "Tell who you are to the server that commands go to",
                       "paceline whoami",
                       {}},
                      "/v1/whoami", [](const Document& who, const Output&, const Console&) {
                        return called(who) + "\n";
                      });
}

}  // namespace paceline
