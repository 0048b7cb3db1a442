// The two answers without an end: event streams and tunnels.
#include <fmt/format.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <utility>
#include <vector>

#include "api/connection.hpp"
#include "api/unix_socket.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

using boost::system::error_code;
using Socket = Connection::Socket;

constexpr std::size_t kPiecesPerWrite = 16;
constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    "Connection: close\r\n\r\n";

Connection::Instant stream_now() { return std::chrono::steady_clock::now(); }

// Passes bytes on until `from` ends; then `to` is told. False if either broke.
asio::awaitable<bool> copy(Socket& from, Socket& to) {
  std::vector<char> bytes(16 << 10);
  error_code error;
  while (!error) {
    const auto count = co_await from.async_read_some(
        asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
    co_await asio::async_write(to, asio::buffer(bytes.data(), count),
                               asio::redirect_error(asio::use_awaitable, error));
  }
  const bool ended = error == asio::error::eof;
  to.shutdown(Socket::shutdown_send, error);
  co_return ended;
}

}  // namespace

Connection::Awaitable<void> Connection::write_stream(std::shared_ptr<LiveStream> stream) {
  const bool begun = co_await write_all(kStreamHead, {});
  if (phase_ != Phase::closed) enter(Phase::streaming);
  stream_ = stream;
  if (!begun || phase_ == Phase::closed) {
    stream->client_left();
    co_return;
  }
  if (context_->stopping) stream->cut("stopping");
  watch();
  auto& queue = stream->queue();
  auto beat = stream_now() + context_->options.heartbeat_ms;
  while (phase_ != Phase::closed && !(queue.empty() && stream->over())) {
    if (queue.empty()) {
      deadline_ = Instant::max();
      co_await sleep_until(beat);
      if (queue.empty() && !stream->over() && stream_now() >= beat) queue.push_comment();
      continue;
    }
    const bool written = co_await write_pieces(queue);
    if (!written) break;
    beat = stream_now() + context_->options.heartbeat_ms;
    stream->offer_room();
  }
}

Connection::Awaitable<bool> Connection::write_pieces(StreamQueue& queue) {
  std::vector<asio::const_buffer> pieces;
  for (const auto piece : queue.pin(kPiecesPerWrite)) {
    pieces.emplace_back(piece.data(), piece.size());
  }
  if (!queue.is_cut()) expect_within(context_->options.stall_ms);
  error_code error;
  const auto count =
      co_await socket_.async_write_some(pieces, asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return false;
  queue.written(count);
  load_.set(queue.bytes());
  co_return true;
}

Connection::Awaitable<void> Connection::tunnel(Tunnel tunnel) {
  const auto connected = connect_unix(tunnel.path);
  if (!connected) {
    keep_alive_ = false;
    co_await write_response(error_response(connected.error()));
    co_return;
  }
  const asio::local::stream_protocol protocol;
  auto far = std::make_shared<Socket>(context_->io, protocol, *connected);
  far_end_ = far;
  enter(Phase::tunnelling);
  const auto head =
      fmt::format("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {}\r\n\r\n",
                  tunnel.protocol);
  const bool begun = co_await write_all(head, {});
  deadline_ = Instant::max();
  error_code error;
  co_await asio::async_write(*far, buffer_.data(),
                             asio::redirect_error(asio::use_awaitable, error));
  if (!begun || error) co_return;
  // What the worker says, until it is done: then so are we.
  const auto self = shared_from_this();
  asio::co_spawn(context_->io, copy(*far, socket_),
                 [self, far](const std::exception_ptr&, bool) { self->close(); });
  const bool ended = co_await copy(socket_, *far);
  if (!ended || hung_up()) co_return;
  while (phase_ != Phase::closed) co_await sleep_until(Instant::max());
}

}  // namespace paceline
