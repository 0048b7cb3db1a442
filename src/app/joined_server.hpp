// How a machine became a node of another one's server, as its agent keeps it: DIR/trust is its
// identity, DIR/server the server's address.
//
//   auto joined = JoinedServer::take({.directory = dir, .join = at, .token = token, …}, clock.wall());
//   ServerAddress server = joined->server(interrupted);
//   if (joined->wants_another(clock.wall())) …   // renew(), in a thread: it waits for the server
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "http/client.hpp"
#include "http/tcp_socket.hpp"
#include "trust/identity.hpp"
#include "trust/token.hpp"

namespace paceline {

class JoinedServer {
 public:
  struct Options {
    std::filesystem::path directory;      // DIR
    std::optional<TcpAddress> join = {};  // nothing: as it is kept
    std::optional<Token> token = {};      // to join by
    std::string node = {};                // what the machine is to be called
    std::string machine = {};             // NodeSpec::machine
    std::string version = {};             // of this program
  };

  // What is kept in DIR, where a machine has joined already. Errors: forbidden, storage, data.
  static Result<std::optional<Identity>> kept(const std::filesystem::path& directory);

  // Joins where there is a token; where the server doesn't take that and an identity of the same
  // server is kept, goes on with it. Waits for the server where it joins, or is told another address.
  // Errors: invalid: it never joined, and there is no token; conflict: it is another server's, or
  // another node; and the server's.
  static Result<JoinedServer> take(Options options, WallTime now);

  [[nodiscard]] const std::string& node() const { return identity_.name.node; }
  [[nodiscard]] const TcpAddress& at() const { return at_; }
  [[nodiscard]] WallTime renew_at() const { return identity_.validity.renew_at(); }
  // Is it time for renew()?
  [[nodiscard]] bool wants_another(WallTime now) const;
  // Nothing: it holds.
  [[nodiscard]] std::optional<Error> flaw(WallTime now) const;

  // The way to the server, with the identity shown; `interrupted` as of ServerAddress.
  [[nodiscard]] ServerAddress server(std::function<int()> interrupted) const;
  // A new identity, which is kept in place of this one. Errors: the server's, forbidden, storage.
  [[nodiscard]] Result<Identity> renew(std::function<int()> interrupted, WallTime now) const;
  void take_over(Identity renewed) { identity_ = std::move(renewed); }

 private:
  JoinedServer(Options options, Identity identity, TcpAddress at)
      : options_(std::move(options)), identity_(std::move(identity)), at_(std::move(at)) {}

  Options options_;
  Identity identity_;
  TcpAddress at_;
};

}  // namespace paceline
