// How keys, requests and certificates are made. Only .cpp files include it.
#pragma once

#include "base/time.hpp"
#include "trust/certificate.hpp"
#include "trust/certificate_name.hpp"
#include "trust/openssl.hpp"

namespace paceline {

// A new key on the curve P-256.
OwnedKey make_key();
bool is_p256(const EVP_PKEY& key);

// A certificate that `key` signs for itself: an authority's, under which no other may stand.
OwnedCertificate make_authority_certificate(EVP_PKEY& key, const Validity& validity);

struct Issuer {
  const X509& certificate;
  EVP_PKEY& key;
};
// A certificate for whom `name` says, whose public key is that of `subject`.
OwnedCertificate issue_certificate(const Issuer& issuer, EVP_PKEY& subject,
                                   const CertificateName& name, const Validity& validity);

// A PKCS#10 request that `key` signs. It names nothing: the authority does.
OwnedRequest make_request(EVP_PKEY& key);

}  // namespace paceline
