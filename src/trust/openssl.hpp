// OpenSSL's objects with their owners. Only .cpp files include it.
#pragma once

#include <memory>

#include "trust/openssl_library.hpp"

namespace paceline {

template <auto& Free>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

using OwnedBio = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using OwnedCertificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using OwnedRequest = std::unique_ptr<X509_REQ, FreedBy<X509_REQ_free>>;

}  // namespace paceline
