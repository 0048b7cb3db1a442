// One TLS connection over a connected, non-blocking socket, as either side speaks it. Nothing here
// waits: every call says what to wait for. Internal to tls_listener and tls_dialer.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/transport.hpp"
#include "trust/certificate_name.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace paceline {

// The most that one record carries.
inline constexpr std::size_t kTlsRecordBytes = 16 << 10;

enum class TlsSide { server, client };

class TlsSession {
 public:
  using Try = ClientStream::Try;
  using Presence = ServerStream::Presence;

  // REQUIRES: the socket stays open for as long as this lives.
  TlsSession(ssl_ctx_st& context, int socket, TlsSide side);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  // Goes on with the handshake; one byte: it is done.
  Try shake_hands();
  // REQUIRES for both: the handshake is done, and room for a byte. What was to be sent when send()
  // awaits is what is tried again, at most with more behind it.
  Try receive(void* bytes, std::size_t size);
  Try send(const void* bytes, std::size_t size);
  // Says that nothing more comes (close_notify); one byte: it is said.
  Try finish();

  // Bytes that came and were not received are here already: the socket will not tell of them.
  [[nodiscard]] bool holds_bytes() const;
  // A peer that said that nothing more comes and then closed is gone.
  [[nodiscard]] Presence presence();

  // After a try without anything to await: what OpenSSL says of it, for a log; and its code.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] unsigned long trouble_code() const { return trouble_code_; }

  // What the certificate names that the other end showed. Nothing: it showed none.
  [[nodiscard]] std::optional<CertificateName> peer_name() const;

 private:
  struct Link {  // how OpenSSL reaches the socket
    int socket = -1;
    int reason = 0;  // the errno of the last failure
    bool ended = false;
  };
  struct Bridge;  // its functions

  Try outcome(int returned, std::size_t bytes);
  Try broken();

  Link link_;
  std::unique_ptr<ssl_st, void (*)(ssl_st*)> ssl_;
  std::string trouble_;
  unsigned long trouble_code_ = 0;
  int reason_ = 0;  // it is broken: the errno
  bool established_ = false;
  bool sending_ = false;  // a record of send() waits for room
};

}  // namespace paceline
