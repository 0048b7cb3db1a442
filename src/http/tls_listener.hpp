// HTTP over TCP and TLS 1.3, for agents and for people on other machines. A client with a node's
// certificate is that node (Peer::certificate); a client without one is known by its address and by
// the token that it sends.
//
//   auto certificates = TlsCertificates::make(server.credentials, authority.certificate());
//   HttpServer https(io, listen_tls(io, std::move(*socket), *certificates), router,
//                    {.when_full = WhenFull::replace, .proof_ms = 10s});
//   (*certificates)->renew(authority.issue_server(clock.wall())->credentials);
//
// A connection comes out of accept() once its handshake is done. Handshakes run beside each other,
// each has a deadline, and so many run at a time, in all and of one address; beyond that the next
// one takes the place of the oldest. A stranger who says nothing costs a socket and some hundred
// bytes for that long, and keeps nobody out. What is no TLS 1.3, or shows a certificate of another
// authority, gets a TLS alert and the end; TlsListenerOptions::refused is told.
//
// A stream of it tells a peer that finished sending (close_notify) from one that is gone; an end
// without that word is an error. when_not_silent() also waits on while the peer is merely done.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "files/fd.hpp"
#include "http/transport.hpp"
#include "trust/certificate.hpp"

namespace boost::asio {
class io_context;
}
struct ssl_ctx_st;

namespace paceline {

// What a server shows, and by which authority it knows nodes. Used on the thread of the listener.
class TlsCertificates {
 public:
  // `authority`: its certificate, PEM. Errors: invalid: they can't be read, or don't fit together.
  static Result<std::shared_ptr<TlsCertificates>> make(const Credentials& own,
                                                       std::string_view authority);
  // From the next handshake on; connections stay as they are. Errors: invalid: then nothing changes.
  Result<void> renew(const Credentials& own);

  // ---- for the listener ----
  [[nodiscard]] const std::shared_ptr<ssl_ctx_st>& context() const { return context_; }

 private:
  explicit TlsCertificates(std::shared_ptr<x509_st> authority) : authority_(std::move(authority)) {}

  std::shared_ptr<x509_st> authority_;
  std::shared_ptr<ssl_ctx_st> context_;
};

struct TlsListenerOptions {
  std::size_t handshakes_max = 256;  // at a time; over it: the oldest ends
  // The same, of one address, or of one network of 2^64 addresses of IPv6.
  std::size_t handshakes_per_address_max = 32;
  std::chrono::milliseconds handshake_ms{10'000};
  // Told of a handshake that failed: with whom, and why, as a sentence without its end.
  std::function<void(std::string_view from, std::string_view why)> refused = {};
};

// Takes what connects to `listening`, a bound, listening TCP socket (http/tcp_socket.hpp). REQUIRES:
// `io` outlives it and its streams, and runs on one thread.
std::unique_ptr<Listener> listen_tls(boost::asio::io_context& io, UniqueFd listening,
                                     std::shared_ptr<TlsCertificates> certificates,
                                     TlsListenerOptions options = {});

}  // namespace paceline
