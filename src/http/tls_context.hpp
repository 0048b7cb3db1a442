// How both sides speak TLS: version 1.3 alone, HTTP/1.1 in it, every connection verified anew.
// Internal to tls_listener and tls_dialer.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "trust/certificate.hpp"

struct ssl_ctx_st;

namespace paceline {

using TlsContext = std::shared_ptr<ssl_ctx_st>;

// Shows `credentials`. Errors: invalid: they don't fit together.
Result<TlsContext> make_server_context(const Credentials& credentials);
// The same; empty ones: it shows none.
Result<TlsContext> make_client_context(const Credentials& credentials);

// As OpenSSL calls it, so that the alert says what is wrong.
int tls_code_of(Flaw flaw);
// What the clock of this machine shows: certificates are judged by it.
WallTime tls_wall_clock();

}  // namespace paceline
