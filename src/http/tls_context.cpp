#include "http/tls_context.hpp"

#include <array>
#include <chrono>

#include "base/check.hpp"
#include "trust/openssl_library.hpp"
#include "trust/pem.hpp"

namespace paceline {
namespace {

// Of the other end's; ours has two certificates of some 600 bytes.
constexpr long kChainBytesMax = 16 << 10;
// As ALPN writes a list.
constexpr std::array<unsigned char, 9> kHttp = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

int choose_http(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* size,
                const unsigned char* offered, unsigned offered_size, void* /*data*/) {
  unsigned char* found = nullptr;
  const int outcome =
      SSL_select_next_proto(&found, size, kHttp.data(), kHttp.size(), offered, offered_size);
  if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

Result<void> show(SSL_CTX& context, const Credentials& credentials) {
  const auto key = read_key(credentials.key);
  const auto chain = read_certificates(credentials.chain);
  bool good = key && !chain.empty() && SSL_CTX_use_certificate(&context, chain[0].get()) == 1 &&
              SSL_CTX_use_PrivateKey(&context, key.get()) == 1;
  for (std::size_t i = 1; good && i < chain.size(); ++i)
    good = SSL_CTX_add1_chain_cert(&context, chain[i].get()) == 1;
  ERR_clear_error();
  if (good) return {};
  return fail(ErrorCode::invalid, "The key and the certificate for TLS don't belong together.",
              "Let them be issued anew.");
}

TlsContext make_context(const SSL_METHOD* method) {
  TlsContext context(SSL_CTX_new(method), SSL_CTX_free.function());
  check(context != nullptr, "OpenSSL has memory");
  auto& made = *context;
  check(SSL_CTX_set_min_proto_version(&made, TLS1_3_VERSION) == 1, "OpenSSL speaks TLS 1.3");
  SSL_CTX_set_options(&made, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(&made, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(&made, 0);
  SSL_CTX_set_max_cert_list(&made, kChainBytesMax);
  SSL_CTX_set_mode(&made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
  // A record that carries nothing of ours ends a try: a client that sends many keeps no other waiting.
  SSL_CTX_clear_mode(&made, SSL_MODE_AUTO_RETRY);
  return context;
}

}  // namespace

Result<TlsContext> make_server_context(const Credentials& credentials) {
  if (auto there = openssl_library(); !there) return fail(std::move(there.error()));
  auto context = make_context(TLS_server_method());
  SSL_CTX_set_alpn_select_cb(context.get(), &choose_http, nullptr);
  if (auto shown = show(*context, credentials); !shown) return fail(std::move(shown.error()));
  return context;
}

Result<TlsContext> make_client_context(const Credentials& credentials) {
  if (auto there = openssl_library(); !there) return fail(std::move(there.error()));
  auto context = make_context(TLS_client_method());
  check(SSL_CTX_set_alpn_protos(context.get(), kHttp.data(), kHttp.size()) == 0,
        "OpenSSL has memory");
  if (credentials.chain.empty()) return context;
  if (auto shown = show(*context, credentials); !shown) return fail(std::move(shown.error()));
  return context;
}

int tls_code_of(Flaw flaw) {
  switch (flaw) {
    case Flaw::none:
      return X509_V_OK;
    case Flaw::expired:
      return X509_V_ERR_CERT_HAS_EXPIRED;
    case Flaw::early:
      return X509_V_ERR_CERT_NOT_YET_VALID;
    case Flaw::other_holder:
      return X509_V_ERR_INVALID_PURPOSE;
    case Flaw::foreign:
      break;
  }
  return X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
}

WallTime tls_wall_clock() {
  return WallTime{
      std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())};
}

}  // namespace paceline
