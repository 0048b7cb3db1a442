// The server's door for people and machines elsewhere: TLS 1.3 at an address, under an authority of
// its own. DIR/trust keeps the authority, DIR/tokens whom it gave tokens to, DIR/nodes which machines
// it invited and which joined.
//
//   auto door = RemoteDoor::open(io, clock, {.at = address, .directory = dir, .own_nodes = {"box"}});
//   api_options.remote = (*door)->access(&agents);
//   HttpApi api(controller, api_options);
//   if (auto serving = (*door)->serve(api.router(), options); !serving) …
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/api.hpp"
#include "api/token_book.hpp"
#include "app/turned_away.hpp"
#include "clock/clock.hpp"
#include "files/fd.hpp"
#include "http/server.hpp"
#include "http/tcp_socket.hpp"
#include "http/tls_listener.hpp"
#include "joining/node_book.hpp"
#include "loop/timer.hpp"
#include "trust/authority.hpp"

namespace paceline {

class RemoteDoor {
 public:
  struct Options {
    TcpAddress at;
    std::filesystem::path directory;          // the server's
    std::vector<std::string> own_nodes = {};  // its own, which no other machine is called
  };

  // Reads what is kept, or makes it, and takes the address; nobody is let in yet. `io` and `clock`
  // outlive the door. Errors: conflict: the address is taken; forbidden, data, storage.
  static Result<std::unique_ptr<RemoteDoor>> open(boost::asio::io_context& io, Clock& clock,
                                                  const Options& options);
  RemoteDoor(const RemoteDoor&) = delete;
  RemoteDoor& operator=(const RemoteDoor&) = delete;

  // `agents` serves nodes that dial in, and outlives the API; nullptr: none may for now.
  [[nodiscard]] RemoteAccess access(AgentDoor* agents = nullptr);
  // Keeps from which boot of its machine a node is heard. Errors: storage.
  Result<void> keep_boot(const std::string& node, const std::string& boot);
  // "gpu-box:7443"
  [[nodiscard]] const std::string& address() const { return address_; }

  // Lets people in, whom `options` admits. Errors: those of the listener.
  Result<void> serve(Router router, ServerOptions options);
  // As of HttpServer. REQUIRES: it serves.
  void stop(std::chrono::milliseconds patience, std::function<void()> stopped);

 private:
  // What is kept in the server's directory.
  struct Kept {
    Authority authority;
    TokenBook tokens;
    NodeBook nodes;
  };
  static Result<Kept> read(const std::filesystem::path& directory, WallTime now);

  RemoteDoor(boost::asio::io_context& io, Clock& clock, Kept kept, UniqueFd socket,
             std::vector<std::string> own_nodes);

  Result<void> take_certificate();
  void watch_certificate();

  boost::asio::io_context& io_;
  Clock& clock_;
  Kept kept_;
  UniqueFd socket_;
  std::vector<std::string> own_nodes_;
  std::string address_;
  std::shared_ptr<TlsCertificates> certificates_;
  Validity validity_;
  Timer look_;
  TurnedAway turned_away_;
  std::optional<HttpServer> server_;
};

}  // namespace paceline
