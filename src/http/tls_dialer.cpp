#include "http/tls_dialer.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "files/fd.hpp"
#include "http/client_wait.hpp"
#include "http/tcp_socket.hpp"
#include "http/tls_context.hpp"
#include "http/tls_session.hpp"
#include "trust/openssl.hpp"
#include "trust/openssl_library.hpp"
#include "trust/pem.hpp"

namespace paceline {
namespace {

using Instant = std::chrono::steady_clock::time_point;
using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr std::string_view kIsItThere =
    "See whether the server runs there, and whether a firewall lets you through to its port.";
constexpr std::string_view kAddressWrong = "Look for a mistake in the address and the port.";

// ---- who the server is ----

// What is known of a server before it is dialled, and what it turned out to be.
struct ServerProof {
  OwnedCertificate authority;         // or
  std::optional<Sha256> fingerprint;  // of it
  std::optional<Verdict> verdict;     // none: it showed no certificate
};

const X509* authority_of(const ServerProof& proof, const STACK_OF(X509) * chain) {
  if (proof.authority) return proof.authority.get();
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const X509* const shown = sk_X509_value(chain, i);
    if (same(fingerprint_of(*shown), *proof.fingerprint)) return shown;
  }
  return nullptr;
}

int verify_server(X509_STORE_CTX* shown, void* data) {
  auto& proof = *static_cast<ServerProof*>(data);
  const auto* const authority = authority_of(proof, X509_STORE_CTX_get0_untrusted(shown));
  proof.verdict = authority == nullptr ? Verdict{}
                                       : judge(*X509_STORE_CTX_get0_cert(shown), *authority,
                                               Holder::server, tls_wall_clock());
  X509_STORE_CTX_set_error(shown, tls_code_of(proof.verdict->flaw));
  return proof.verdict->flaw == Flaw::none ? 1 : 0;
}

// ---- what is said when it fails ----

class Failures {
 public:
  explicit Failures(const TlsDialerOptions& options)
      : options_(options), where_(to_string(TcpAddress{options.host, options.port})) {}

  [[nodiscard]] tl::unexpected<Error> no_such_host(int reason) const {
    return fail(ErrorCode::unavailable,
                fmt::format("'{}' leads to no machine: {}.", options_.host, ::gai_strerror(reason)),
                "Look for a mistake in the name; an address will do, too.",
                reason == EAI_AGAIN ? Retry::may_help : Retry::useless);
  }
  [[nodiscard]] tl::unexpected<Error> nobody(int reason) const {
    return unavailable(fmt::format("Nobody answers at {}: {}.", where_, std::strerror(reason)));
  }
  [[nodiscard]] tl::unexpected<Error> waited(Waited how) const {
    if (how == Waited::too_long) return unavailable(fmt::format("{} does not answer.", where_));
    return fail(ErrorCode::unavailable, fmt::format("The way to {} was given up.", where_), {},
                Retry::may_help);
  }
  [[nodiscard]] tl::unexpected<Error> of(const ServerProof& proof,
                                         const TlsSession& session) const {
    return proof.verdict && proof.verdict->flaw != Flaw::none ? not_the_server(*proof.verdict)
                                                              : no_tls(session);
  }

 private:
  [[nodiscard]] static tl::unexpected<Error> unavailable(std::string message) {
    return fail(ErrorCode::unavailable, std::move(message), std::string(kIsItThere),
                Retry::may_help);
  }

  [[nodiscard]] tl::unexpected<Error> not_the_server(const Verdict& verdict) const {
    if (verdict.flaw == Flaw::expired || verdict.flaw == Flaw::early) {
      return fail(
          ErrorCode::unavailable,
          fmt::format("The certificate of {} does not hold now: it holds from {} to {}.", where_,
                      utc_text(verdict.validity.from), utc_text(verdict.validity.until)),
          fmt::format("This machine's clock says {}: set it, or that of the server, then try "
                      "again.",
                      utc_text(tls_wall_clock())),
          Retry::may_help);
    }
    if (verdict.flaw == Flaw::other_holder) {
      return fail(
          ErrorCode::forbidden,
          fmt::format("What answers at {} shows a certificate that is not a server's.", where_),
          std::string(kAddressWrong));
    }
    if (std::holds_alternative<Sha256>(options_.authority)) {
      return fail(ErrorCode::forbidden,
                  fmt::format("{} is not the server that the token was made by.", where_),
                  "Look for a mistake in the address, or have a new token made on that server.");
    }
    return fail(ErrorCode::forbidden,
                fmt::format("{} is not the server that is known here: another authority vouches "
                            "for it.",
                            where_),
                "Look for a mistake in the address. If the server was set up anew, let this "
                "machine join again.");
  }

  [[nodiscard]] tl::unexpected<Error> no_tls(const TlsSession& session) const {
    const auto speaks = [&](std::string_view what) {
      return fail(ErrorCode::invalid, fmt::format("What answers at {} speaks no {}.", where_, what),
                  std::string(kAddressWrong));
    };
    switch (ERR_GET_REASON(session.trouble_code())) {
      case SSL_R_WRONG_VERSION_NUMBER:
      case SSL_R_HTTP_REQUEST:
        return speaks("TLS");
      case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      case SSL_R_UNSUPPORTED_PROTOCOL:
        return speaks("TLS 1.3");
      default:
        return unavailable(
            fmt::format("{} did not show who it is: {}.", where_, session.trouble()));
    }
  }

  const TlsDialerOptions& options_;
  std::string where_;
};

// ---- the connection ----

// The client's end of it. What it was not told by close_notify is an error, not an end.
class TlsEnd final : public ClientStream {
 public:
  TlsEnd(UniqueFd fd, TlsContext context)
      : fd_(std::move(fd)),
        context_(std::move(context)),
        session_(*context_, fd_.get(), TlsSide::client) {}
  ~TlsEnd() override { (void)session_.finish(); }

  Try receive(void* bytes, std::size_t size) override { return session_.receive(bytes, size); }
  Try send(const void* bytes, std::size_t size) override { return session_.send(bytes, size); }
  [[nodiscard]] int descriptor() const override { return fd_.get(); }

  TlsSession& session() { return session_; }

 private:
  UniqueFd fd_;
  TlsContext context_;
  TlsSession session_;
};

// 0: it is connected; otherwise the errno, ETIMEDOUT and ECANCELED for a wait that ended.
int connect_by(int socket, const addrinfo& to, Instant deadline,
               const std::function<int()>& interrupted) {
  if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  for (;;) {
    const auto how = wait_for_events(socket, POLLOUT, deadline, interrupted);
    if (how == Waited::too_long) return ETIMEDOUT;
    if (how == Waited::interrupted) return ECANCELED;
    pollfd state{socket, POLLOUT, 0};
    if (::poll(&state, 1, 0) <= 0) continue;
    int reason = 0;
    socklen_t size = sizeof reason;
    return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 ? reason : errno;
  }
}

// To the first address that answers. Each has an equal part of the time that is left to all.
Result<UniqueFd> connect_to(const addrinfo* addresses, Instant deadline,
                            const TlsDialerOptions& options, const Failures& failures) {
  int left = 0;
  for (const auto* each = addresses; each != nullptr; each = each->ai_next) ++left;
  int reason = EADDRNOTAVAIL;
  for (const auto* each = addresses; each != nullptr; each = each->ai_next, --left) {
    UniqueFd socket(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    reason = socket ? 0 : errno;
    if (reason == 0 && !options.from.empty()) reason = bind_tcp(socket.get(), {options.from});
    const auto now = std::chrono::steady_clock::now();
    if (reason == 0)
      reason = connect_by(socket.get(), *each, now + (deadline - now) / left, options.interrupted);
    if (reason == 0) return socket;
    if (reason == ECANCELED) return failures.waited(Waited::interrupted);
  }
  if (reason == ETIMEDOUT) return failures.waited(Waited::too_long);
  return failures.nobody(reason);
}

Result<ServerProof> proof_by(const TlsDialerOptions& options) {
  ServerProof proof;
  if (const auto* fingerprint = std::get_if<Sha256>(&options.authority)) {
    proof.fingerprint = *fingerprint;
    return proof;
  }
  proof.authority = read_certificate(std::get<std::string>(options.authority));
  if (proof.authority) return proof;
  return fail(ErrorCode::invalid, "The certificate of the server's authority can't be read.",
              "Let this machine join again.");
}

}  // namespace

Result<std::unique_ptr<ClientStream>> TlsDialer::dial() const {
  const Failures failures(options_);
  auto proof = proof_by(options_);
  if (!proof) return fail(std::move(proof.error()));
  auto context = make_client_context(options_.shown);
  if (!context) return fail(std::move(context.error()));
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context->get(), &verify_server, &*proof);

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* addresses = nullptr;
  const int unknown = ::getaddrinfo(options_.host.c_str(), std::to_string(options_.port).c_str(),
                                    &hints, &addresses);
  if (unknown != 0) return failures.no_such_host(unknown);
  const Found found(addresses, &::freeaddrinfo);

  const auto deadline = std::chrono::steady_clock::now() + options_.timeout;
  auto socket = connect_to(addresses, deadline, options_, failures);
  if (!socket) return fail(std::move(socket.error()));
  send_without_delay(socket->get());
  auto end = std::make_unique<TlsEnd>(std::move(*socket), *context);
  for (;;) {
    const auto tried = end->session().shake_hands();
    if (tried.bytes > 0) return end;
    if (tried.awaits == 0) return failures.of(*proof, end->session());
    const auto how =
        wait_for_events(end->descriptor(), tried.awaits, deadline, options_.interrupted);
    if (how != Waited::ready) return failures.waited(how);
  }
}

}  // namespace paceline
