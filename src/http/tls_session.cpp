#include "http/tls_session.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.hpp"
#include "trust/certificate.hpp"
#include "trust/openssl_library.hpp"

namespace paceline {
namespace {

// Its alert says why the other end ended it.
bool refuses_certificate(unsigned long code) {
  switch (ERR_GET_REASON(code)) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return true;
    default:
      return false;
  }
}

}  // namespace

// A socket of OpenSSL's own would raise SIGPIPE.
struct TlsSession::Bridge {
  static Link& link_of(BIO* bio) { return *static_cast<Link*>(BIO_get_data(bio)); }

  static int write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const auto count = ::send(link_of(bio).socket, bytes, static_cast<std::size_t>(size),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<int>(count);
    if (errno == EAGAIN || errno == EINTR)
      BIO_set_retry_write(bio);
    else
      link_of(bio).reason = errno;
    return -1;
  }
  static int read(BIO* bio, char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const auto count =
        ::recv(link_of(bio).socket, bytes, static_cast<std::size_t>(size), MSG_DONTWAIT);
    if (count > 0) return static_cast<int>(count);
    if (count == 0) {
      link_of(bio).ended = true;
      return 0;
    }
    if (errno == EAGAIN || errno == EINTR)
      BIO_set_retry_read(bio);
    else
      link_of(bio).reason = errno;
    return -1;
  }
  static long control(BIO* bio, int what, long /*number*/, void* /*data*/) {
    if (what == BIO_CTRL_EOF) return link_of(bio).ended ? 1 : 0;
    return what == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static BIO_METHOD* method() {
    static BIO_METHOD* const once = [] {
      auto* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      check(made != nullptr && BIO_meth_set_write(made, &write) == 1 &&
                BIO_meth_set_read(made, &read) == 1 && BIO_meth_set_ctrl(made, &control) == 1,
            "OpenSSL has memory");
      return made;
    }();
    return once;
  }
};

TlsSession::TlsSession(SSL_CTX& context, int socket, TlsSide side)
    : link_{.socket = socket}, ssl_(SSL_new(&context), SSL_free.function()) {
  BIO* const bio = BIO_new(Bridge::method());
  check(ssl_ && bio != nullptr, "OpenSSL has memory");
  BIO_set_data(bio, &link_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (side == TlsSide::server)
    SSL_set_accept_state(ssl_.get());
  else
    SSL_set_connect_state(ssl_.get());
}

TlsSession::~TlsSession() = default;

TlsSession::Try TlsSession::broken() { return {.reason = reason_}; }

TlsSession::Try TlsSession::outcome(int returned, std::size_t bytes) {
  if (returned > 0) return {.bytes = bytes};
  switch (SSL_get_error(ssl_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return {.awaits = POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return {.awaits = POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return {};
    default:
      break;
  }
  trouble_code_ = ERR_peek_error();
  ERR_clear_error();
  if (link_.ended) {
    reason_ = ECONNRESET;
    trouble_ = "the connection ended before its time";
  } else if (link_.reason != 0) {
    reason_ = link_.reason;
    trouble_ = std::strerror(reason_);
  } else {
    reason_ = refuses_certificate(trouble_code_) ? EKEYREJECTED : EPROTO;
    const char* const why = ERR_reason_error_string(trouble_code_);
    trouble_ = why != nullptr ? why : "a mistake in TLS";
  }
  return broken();
}

TlsSession::Try TlsSession::shake_hands() {
  if (reason_ != 0) return broken();
  ERR_clear_error();
  const auto tried = outcome(SSL_do_handshake(ssl_.get()), 1);
  established_ = established_ || tried.bytes > 0;
  return tried;
}

TlsSession::Try TlsSession::receive(void* bytes, std::size_t size) {
  if (reason_ != 0) return broken();
  ERR_clear_error();
  std::size_t count = 0;
  const int returned = SSL_read_ex(ssl_.get(), bytes, size, &count);
  return outcome(returned, count);
}

TlsSession::Try TlsSession::send(const void* bytes, std::size_t size) {
  if (reason_ != 0) return broken();
  ERR_clear_error();
  std::size_t count = 0;
  const int returned = SSL_write_ex(ssl_.get(), bytes, std::min(size, kTlsRecordBytes), &count);
  const auto tried = outcome(returned, count);
  sending_ = tried.awaits != 0;
  return tried;
}

// 0 says that it went out and that the peer's own end is not there yet.
TlsSession::Try TlsSession::finish() {
  if (reason_ != 0 || !established_) return broken();
  if (sending_) return {.awaits = POLLOUT};
  ERR_clear_error();
  const int returned = SSL_shutdown(ssl_.get());
  return outcome(returned == 0 ? 1 : returned, 1);
}

bool TlsSession::holds_bytes() const { return SSL_pending(ssl_.get()) > 0; }

TlsSession::Presence TlsSession::presence() {
  if (reason_ != 0) return Presence::gone;
  ERR_clear_error();
  char next = 0;
  std::size_t count = 0;
  const int returned = SSL_peek_ex(ssl_.get(), &next, 1, &count);
  const auto tried = outcome(returned, count);
  if (tried.bytes > 0) return Presence::speaks;
  if (tried.awaits != 0) return Presence::silent;
  if (tried.reason != 0) return Presence::gone;
  const auto behind = ::recv(link_.socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool open = behind < 0 && (errno == EAGAIN || errno == EINTR);
  return open ? Presence::is_done : Presence::gone;
}

std::optional<CertificateName> TlsSession::peer_name() const {
  const X509* const shown = SSL_get0_peer_certificate(ssl_.get());
  return shown == nullptr ? std::nullopt : name_of(*shown);
}

}  // namespace paceline
