// The way to a server on another machine: over TCP and TLS 1.3, to the one server that an authority
// vouches for. No host name is compared: a server is who its authority says, wherever it stands.
//
//   TlsDialer({.host = "gpu-1.lab", .port = 7223, .authority = identity.authority,
//              .shown = identity.credentials})
//   TlsDialer({.host = "10.0.0.7", .port = 7223, .authority = token.authority()})  // the first time
//
// Nothing is sent before the server is verified. dial() waits: for the name to be resolved, and at
// most `timeout` for everything after.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "base/time.hpp"
#include "http/transport.hpp"
#include "trust/certificate.hpp"
#include "trust/sha256.hpp"

namespace paceline {

struct TlsDialerOptions {
  std::string host;  // a name, or an address of IPv4 or IPv6
  std::uint16_t port = 0;
  std::string from = {};  // an address of this machine; empty: the kernel chooses one
  // The certificate of its authority, PEM; or the fingerprint of that, where no more is known: the
  // server shows it.
  std::variant<std::string, Sha256> authority;
  Credentials shown = {};  // a node's; empty: none
  Duration timeout = std::chrono::seconds{10};
  // A descriptor that can be read once dial() shall end; -1 or empty: there is none.
  std::function<int()> interrupted = {};
};

class TlsDialer final : public Dialer {
 public:
  explicit TlsDialer(TlsDialerOptions options) : options_(std::move(options)) {}

  // Errors: unavailable (nobody answers, or the clocks disagree), forbidden (it isn't the server),
  // invalid (what answers speaks no TLS 1.3; or what the options hold can't be read).
  [[nodiscard]] Result<std::unique_ptr<ClientStream>> dial() const override;

 private:
  TlsDialerOptions options_;
};

}  // namespace paceline
