// One client of the HTTP server: reads its requests one after the other, hands each to its route
// and writes what the route answers. Internal to http_server.
//
// A connection lives as long as its coroutine run(). Everything else reaches it through weak
// pointers, so an answer that comes after the client left falls on nobody.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "http/exchange.hpp"
#include "http/http.hpp"
#include "http/node_tunnels.hpp"
#include "http/router.hpp"
#include "http/server.hpp"
#include "http/traffic.hpp"
#include "http/transport.hpp"

namespace paceline {

// What all connections of a server share.
struct ServerContext {
  ServerContext(boost::asio::io_context& i, Router r, ServerOptions o)
      : io(i),
        router(std::move(r)),
        options(std::move(o)),
        traffic(options.traffic_bytes_max, options.traffic_bytes_per_user_max),
        tunnels(options.tunnels_per_node_max) {}

  [[nodiscard]] bool keeps(const Peer& peer) const {
    return options.keeper ? options.keeper(peer) : peer.account && peer.account->uid == 0;
  }

  boost::asio::io_context& io;
  Router router;
  ServerOptions options;
  Traffic traffic;
  NodeTunnels tunnels;
  std::function<bool()> make_room = {};  // drops the answer that is unread for the longest, if any
  bool stopping = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;

  Connection(std::shared_ptr<ServerStream> stream, std::shared_ptr<ServerContext> context);

  static Awaitable<void> run(std::shared_ptr<Connection> self);

  [[nodiscard]] const Peer& peer() const { return socket_->peer(); }
  // Called now and then: ends what has been waited for too long, and looks whether a client that
  // waits for its answer is still there.
  void check_deadline(Instant now);
  // The server stops: leave as soon as the running request is answered.
  void wind_down();
  void close();
  // How little is lost by closing it, the least first.
  enum class Worth {
    silent,    // asks nothing, and hasn't shown that it may
    unproved,  // sends a request, and hasn't shown that it may
    resting,   // asks nothing now
    unread,    // doesn't read its answer
    busy,
    kept,  // a node's, for as long as it is up: never closed for others
  };
  [[nodiscard]] Worth worth() const;
  // Sorts first the connection that can best be spared: worth least, for the longest.
  [[nodiscard]] std::pair<Worth, Instant> stillness() const { return {worth(), entered_}; }
  [[nodiscard]] bool is_being_answered() const {
    return phase_ == Phase::handling || phase_ == Phase::writing;
  }
  // Does it hold an answer that its client hasn't read?
  [[nodiscard]] bool is_unread() const { return phase_ == Phase::writing && load_.bytes() > 0; }
  // May its stream queue more, as far as all that its user holds goes?
  [[nodiscard]] bool has_room() const;

  // ---- for exchanges and streams ----
  void answer(Answer answer);
  void wake();
  // In the loop's next turn.
  void later(std::function<void()> call);

 private:
  enum class Phase { reading, handling, writing, streaming, tunnelling, closed };

  Awaitable<bool> read_request();
  Awaitable<bool> read_header();
  Awaitable<bool> read_body();
  Awaitable<bool> reject(boost::system::error_code error);
  Awaitable<bool> reject(Error error);
  // Room for a request and for its answer. Errors: unavailable.
  Result<void> take_body(std::size_t bytes);
  Result<void> take_answer();
  // A node that has as many tunnels as it may gets no more. Errors: unavailable.
  [[nodiscard]] Result<void> may_tunnel() const;
  [[nodiscard]] Result<void> admit() const;
  void enter(Phase phase);
  void dispatch();
  void route(HttpRequest request);
  Awaitable<bool> deliver();
  Awaitable<bool> write_response(HttpResponse response);
  Awaitable<void> write_stream(std::shared_ptr<LiveStream> stream);
  Awaitable<bool> write_pieces(StreamQueue& queue);
  Awaitable<void> tunnel(Tunnel tunnel);
  void give_back_request();
  Awaitable<bool> write(std::string_view head, std::string_view body = {});
  Awaitable<void> discard_rest();

  // Returns after wake(), or once `at` is reached.
  Awaitable<void> sleep_until(Instant at);
  // Notices that the client leaves while its request is being answered.
  void watch();
  void look();
  void expect_within(std::chrono::milliseconds span);

  std::shared_ptr<ServerStream> socket_;
  std::string origin_;  // of the peer: whose share it takes
  std::shared_ptr<ServerContext> context_;
  ConnectionLoad load_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  boost::asio::steady_timer wake_;
  std::shared_ptr<ServerStream> far_end_;  // of a tunnel
  std::optional<NodeTunnel> node_tunnel_;  // while it is one of a node's
  std::shared_ptr<LiveExchange> exchange_;
  std::shared_ptr<LiveStream> stream_;
  Answer answer_;
  Instant deadline_ = Instant::max();
  Instant entered_ = std::chrono::steady_clock::now();  // the phase
  Phase phase_ = Phase::reading;
  bool woken_ = false;
  bool watching_ = false;
  bool proved_ = false;  // a request of it was good, or none needs to be
  bool keep_alive_ = false;
};

}  // namespace paceline
