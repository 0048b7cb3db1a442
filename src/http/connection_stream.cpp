// The two answers without an end: event streams and tunnels.
#include <fmt/format.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>
#include <vector>

#include "http/connection.hpp"
#include "http/read_buffer.hpp"

namespace asio = boost::asio;

namespace paceline {
namespace {

using boost::system::error_code;

constexpr std::size_t kPiecesPerWrite = 16;
constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
    "Connection: close\r\n\r\n";

Connection::Instant stream_now() { return std::chrono::steady_clock::now(); }

// Passes bytes on until `from` ends; then `to` is told. False if either broke.
asio::awaitable<bool> copy(ServerStream& from, ServerStream& to) {
  ReadBuffer buffer;
  error_code error;
  while (!error) {
    const auto count = co_await from.read_some(buffer.room(), error);
    if (error) break;
    const bool passed_on = co_await write_all(to, buffer.took(count));
    if (!passed_on) co_return false;
  }
  to.finish_sending();
  co_return error == asio::error::eof;
}

}  // namespace

Connection::Awaitable<void> Connection::write_stream(std::shared_ptr<LiveStream> stream) {
  const bool begun = co_await write(kStreamHead);
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
  const auto count = co_await socket_->write_some(pieces, error);
  if (error) co_return false;
  queue.written(count);
  load_.set(queue.bytes());
  co_return true;
}

// It is asked for no more.
void Connection::give_back_request() {
  parser_.reset();
  buffer_.clear();
  buffer_.shrink_to_fit();
}

Connection::Awaitable<void> Connection::tunnel(Tunnel tunnel) {
  const auto far = std::move(tunnel.far);
  far_end_ = far;
  if (peer().certificate) node_tunnel_.emplace(context_->tunnels, peer().certificate->node);
  enter(Phase::tunnelling);
  const auto head =
      fmt::format("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {}\r\n\r\n",
                  tunnel.protocol);
  const bool begun = co_await write(head);
  deadline_ = Instant::max();
  const auto early = buffer_.cdata();
  const bool handed_on =
      co_await write_all(*far, {static_cast<const char*>(early.data()), early.size()});
  if (!begun || !handed_on) co_return;
  if (node_tunnel_) give_back_request();
  // What the worker says, until it is done: then so are we.
  const auto self = shared_from_this();
  asio::co_spawn(context_->io, copy(*far, *socket_),
                 [self, far](const std::exception_ptr&, bool) { self->close(); });
  const bool ended = co_await copy(*socket_, *far);
  if (!ended || socket_->presence() == ServerStream::Presence::gone) co_return;
  while (phase_ != Phase::closed) co_await sleep_until(Instant::max());
}

}  // namespace paceline
