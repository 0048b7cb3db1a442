// What a running command has at hand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/client/api.hpp"
#include "cli/client/contexts.hpp"
#include "cli/commands/hooks.hpp"
#include "cli/words/console.hpp"

namespace paceline {

class Context {
 public:
  Context(Console& console, Environment environment, const Hooks& hooks);

  Console& console;
  Environment environment;
  const Hooks& hooks;
  std::optional<std::string> server;  // --server
  std::string typed;                  // the command line, as a shell takes it

  // The server, found at the first call. Errors: unavailable, forbidden.
  Result<Api*> api();
  // The server on another machine that commands go to; nothing: it is one of this machine. Errors:
  // those of find_remote().
  [[nodiscard]] Result<std::optional<RemoteServer>> remote() const;
  // The user whose jobs are one's own there. Errors: those of asking the server.
  Result<std::int64_t> own_uid();
  // The time now.
  [[nodiscard]] static WallTime now();

 private:
  std::unique_ptr<Api> api_;
  std::optional<std::int64_t> own_uid_;
};

}  // namespace paceline
