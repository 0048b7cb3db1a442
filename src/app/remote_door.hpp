// The server's door for people on other machines: TLS 1.3 at an address, under an authority of its
// own. DIR/trust keeps the authority, DIR/tokens whom it gave tokens to.
//
//   auto door = RemoteDoor::open(io, clock, {.at = address, .directory = dir});
//   api_options.remote = (*door)->access();
//   HttpApi api(controller, api_options);
//   if (auto serving = (*door)->serve(api.router(), options); !serving) …
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/api.hpp"
#include "api/token_book.hpp"
#include "clock/clock.hpp"
#include "files/fd.hpp"
#include "http/server.hpp"
#include "http/tcp_socket.hpp"
#include "http/tls_listener.hpp"
#include "trust/authority.hpp"

namespace paceline {

class RemoteDoor {
 public:
  struct Options {
    TcpAddress at;
    std::filesystem::path directory;  // the server's
  };

  // Reads what is kept, or makes it, and takes the address; nobody is let in yet. `io` and `clock`
  // outlive the door. Errors: conflict: the address is taken; forbidden, data, storage.
  static Result<std::unique_ptr<RemoteDoor>> open(boost::asio::io_context& io, Clock& clock,
                                                  const Options& options);
  RemoteDoor(const RemoteDoor&) = delete;
  RemoteDoor& operator=(const RemoteDoor&) = delete;

  [[nodiscard]] RemoteAccess access();
  // "gpu-box:7443"
  [[nodiscard]] const std::string& address() const { return address_; }

  // Lets people in, whom `options` admits. Errors: those of the listener.
  Result<void> serve(Router router, ServerOptions options);
  // As of HttpServer. REQUIRES: it serves.
  void stop(std::chrono::milliseconds patience, std::function<void()> stopped);

 private:
  RemoteDoor(boost::asio::io_context& io, Clock& clock, Authority authority, TokenBook tokens,
             UniqueFd socket);

  Result<void> take_certificate();
  void watch_certificate();

  boost::asio::io_context& io_;
  Clock& clock_;
  Authority authority_;
  TokenBook tokens_;
  UniqueFd socket_;
  std::string address_;
  std::shared_ptr<TlsCertificates> certificates_;
  WallTime renew_at_{};
  boost::asio::steady_timer look_;
  std::optional<HttpServer> server_;
};

}  // namespace paceline
