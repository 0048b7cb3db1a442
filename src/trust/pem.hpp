// Keys, certificates and requests as PEM text. Only .cpp files include it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trust/openssl.hpp"

namespace paceline {

constexpr std::size_t kPemBytesMax = 64 << 10;

// Each reads the first of its kind in `text`; nullptr: there is none, or it is damaged or encrypted.
OwnedKey read_key(std::string_view text);
OwnedCertificate read_certificate(std::string_view text);
OwnedRequest read_request(std::string_view text);
// All of them, in order; at most 8.
std::vector<OwnedCertificate> read_certificates(std::string_view text);

std::string to_pem(const EVP_PKEY& key);
std::string to_pem(const X509& certificate);
std::string to_pem(const X509_REQ& request);

}  // namespace paceline
