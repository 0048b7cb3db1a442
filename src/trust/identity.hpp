// The identity of a node: a key that it made itself and that never leaves it, and the certificate
// that the authority of its server issued for it.
//
//   const IdentityDir here(dir / "trust");
//   const auto request = here.request();                    // sent with a join token
//   auto identity = here.accept({certificate, authority}, token.authority(), clock.wall());
//   if (clock.wall() >= identity->validity.renew_at()) …    // ask again, with the identity itself
//
// A request is made of a key that is on the disk already, and stays the same until its certificate
// was accepted: whoever crashes in between asks again for the same key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "trust/certificate.hpp"
#include "trust/sha256.hpp"

namespace paceline {

struct Identity {
  Credentials credentials;  // shown to the server
  std::string authority;    // its certificate, PEM: by it the server is known
  CertificateName name;
  Validity validity;
};

// What the server answered to a request. PEM.
struct IssuedIdentity {
  std::string_view certificate;
  std::string_view authority;
};

class IdentityDir {
 public:
  // Nothing is made before request().
  explicit IdentityDir(std::filesystem::path dir) : dir_(std::move(dir)) {}

  // Nothing: it never joined. An identity that is over is read, too. Errors: forbidden, storage;
  // data: damaged.
  [[nodiscard]] Result<std::optional<Identity>> read() const;
  // PKCS#10, PEM. Errors: forbidden, storage, data.
  [[nodiscard]] Result<std::string> request() const;
  // Keeps what was issued for the last request, in place of the identity before. `expected` is the
  // fingerprint of the authority: of the token when it joins, of the identity when it renews.
  // Errors: forbidden (another authority's, not for this key, not a node's, not valid now), storage,
  // conflict: there is no request.
  [[nodiscard]] Result<Identity> accept(const IssuedIdentity& issued, const Sha256& expected,
                                        WallTime now) const;

 private:
  [[nodiscard]] std::filesystem::path identity_file() const { return dir_ / "identity.pem"; }
  [[nodiscard]] std::filesystem::path asking_file() const { return dir_ / "asking.pem"; }

  std::filesystem::path dir_;
};

// Of the first certificate in a PEM text. Nothing: there is none.
std::optional<Sha256> fingerprint_of(std::string_view certificate);

}  // namespace paceline
