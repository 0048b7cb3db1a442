// The server's end of a connection with TLS. Internal to tls_listener.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <memory>
#include <optional>
#include <string>

#include "files/fd.hpp"
#include "http/tls_context.hpp"
#include "http/tls_session.hpp"
#include "http/transport.hpp"

namespace paceline {

// REQUIRES of the calls of ServerStream: shake_hands() succeeded.
class TlsStream final : public ServerStream, public std::enable_shared_from_this<TlsStream> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  TlsStream(Socket socket, std::string origin) : socket_(std::move(socket)) {
    peer_.origin = std::move(origin);
  }

  // Waits for the peer's first byte; nothing is spent on it before. False: it was closed.
  Awaitable<bool> wait_for_word();
  // False: the peer is no good; trouble() says why.
  Awaitable<bool> shake_hands(ssl_ctx_st& context);
  // After a handshake that failed: lets the peer read the alert that it was sent.
  Awaitable<void> linger();
  [[nodiscard]] const std::string& trouble() const { return session_->trouble(); }

  [[nodiscard]] const Peer& peer() const override { return peer_; }
  Awaitable<std::size_t> read_some(boost::asio::mutable_buffer into, Failure& failure) override;
  Awaitable<std::size_t> write_some(Pieces pieces, Failure& failure) override;
  void say_at_once(std::string_view text) override;
  void finish_sending() override;
  void close() override;
  [[nodiscard]] Presence presence() override;
  void when_not_silent(std::function<void()> due) override;
  [[nodiscard]] int descriptor() const override;

 private:
  // Tries until some bytes went over or `failure` is set.
  template <class Attempt>
  Awaitable<std::size_t> repeat(Attempt attempt, Failure& failure);
  Awaitable<void> wait_for(short awaited, Failure& failure);

  Socket socket_;
  Peer peer_;
  std::optional<TlsSession> session_;
};

}  // namespace paceline
