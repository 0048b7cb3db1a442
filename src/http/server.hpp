// An HTTP/1.1 server, on the thread that runs its io_context, for whatever its listener takes.
//
//   boost::asio::io_context io;
//   HttpServer server(io, listen_at_path(io, dir / "paceline.sock", SocketAccess::owner),
//                     std::move(router), {});
//   if (auto started = server.start(); !started) return fail(started.error());
//   io.run();
//
// Connections are kept alive and may pipeline; their requests are answered one after the other.
// Whatever a client does (half a request, too much of one, leaving in the middle) costs it its
// connection, and no other client anything. No user has more connections or memory than a share.
// The server's keepers are never refused for want of room: the connection that has been still for
// the longest is closed for them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "http/http.hpp"
#include "http/router.hpp"
#include "http/transport.hpp"

namespace boost::asio {
class io_context;
}

namespace paceline {

// What becomes of one connection over `connections_max`. The tunnels of a node, which showed a
// certificate, aren't counted, and never closed for it.
enum class WhenFull {
  refuse,   // 503, and it is closed; but a keeper's takes the place of the stillest
  replace,  // it takes the place of the stillest, unless all are being answered
};

struct ServerOptions {
  // Asked for every request; an error is the answer. Empty: everyone who can connect.
  std::function<Result<void>(const HttpRequest&)> admit = {};

  // The server's keepers: no bound per user holds for them. Empty: root.
  std::function<bool(const Peer&)> keeper = {};

  WhenFull when_full = WhenFull::refuse;
  std::size_t connections_max = 1024;
  std::size_t connections_per_user_max = 64;  // the same
  std::size_t tunnels_per_node_max = 80;      // over it: 503
  std::size_t traffic_bytes_max = 256 << 20;  // of requests and unread answers; over it: 503
  std::size_t traffic_bytes_per_user_max = 32 << 20;  // the same
  std::size_t header_bytes_max = 64 << 10;            // over it: 413
  std::size_t body_bytes_max = 4 << 20;               // over it: 413
  std::size_t stream_bytes_max = 1 << 20;             // waiting for one reader; over it: cut

  using Milliseconds = std::chrono::milliseconds;
  Milliseconds idle_ms{300'000};  // without a whole header
  // Where anybody may connect: what a connection has for its first request that is good; until then
  // it is the first to be closed for others. A client on an endless stream is admitted anew about
  // every second, and cut off once it no longer would be. Zero: none needs to be good.
  Milliseconds proof_ms{0};
  Milliseconds body_ms{60'000};   // for a body to arrive
  Milliseconds write_ms{60'000};  // for a response to be taken
  Milliseconds stall_ms{30'000};  // for a stream's reader to take anything, then it is cut
  Milliseconds heartbeat_ms{15'000};
};

class HttpServer {
 public:
  // REQUIRES: `io` outlives the server and runs on one thread, which makes every call below.
  HttpServer(boost::asio::io_context& io, std::unique_ptr<Listener> listener, Router router,
             ServerOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Closes what is open, at once.
  ~HttpServer();

  // Listens. Errors: those of the listener.
  Result<void> start();

  // Accepts nobody more, closes idle connections, lets running requests be answered, cuts streams;
  // after `patience_ms` closes the rest. Calls `stopped` when all is
  // closed.
  void stop(std::chrono::milliseconds patience_ms, std::function<void()> stopped);

  [[nodiscard]] std::size_t connections() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace paceline
