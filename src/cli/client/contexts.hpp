// The servers on other machines that this user has logged in to, each under a name, and the one
// that commands go to. They are kept in one file that nobody else may read: it holds the tokens.
//
//   auto contexts = Contexts::read(environment);
//   contexts->servers["lab"] = {"gpu-box:7443", token};
//   contexts->current = "lab";
//   if (auto kept = contexts->write(environment); !kept) return fail(kept.error());
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/client/locate.hpp"
#include "cli/words/console.hpp"
#include "http/client.hpp"
#include "http/tcp_socket.hpp"

namespace paceline {

struct RemoteServer {
  std::string address;  // "gpu-box:7443"
  std::string token;    // a user's
  friend bool operator==(const RemoteServer&, const RemoteServer&) = default;
};

// "gpu-box:7443", "10.0.0.7:7443", "[fd00::7]:7443". Errors: invalid.
Result<TcpAddress> parse_server_address(std::string_view text);

// The way there; `interrupted` as of ServerAddress. Errors: invalid: there can be no server; data: the
// token is none.
Result<ServerAddress> address_of(const RemoteServer& server, std::function<int()> interrupted);

struct Contexts {
  std::string current = std::string(kLocalContext);
  std::map<std::string, RemoteServer> servers = {};  // by name; none is called `local`

  // $XDG_CONFIG_HOME/paceline/contexts, else ~/.config/paceline/contexts. None where there is no
  // file, or no home. Errors: forbidden: others may read it; data; storage.
  static Result<Contexts> read(const Environment& environment);
  // Errors: invalid: there is no home; storage.
  [[nodiscard]] Result<void> write(const Environment& environment) const;

  friend bool operator==(const Contexts&, const Contexts&) = default;
};

// 1 to 64 letters, digits, '.', '_', '-', and not "local". Errors: invalid.
Result<void> check_context_name(std::string_view name);

// The server on another machine that a command goes to; nothing: it is one of this machine. With
// `server` (https://ADDR:PORT, the name of a context, or a place on this machine) or PACELINE_DIR
// only that; else the current context's. Errors: those of read(); not_found: nobody logged in
// there.
Result<std::optional<RemoteServer>> find_remote(const std::optional<std::string>& server,
                                                const Environment& environment);

}  // namespace paceline
