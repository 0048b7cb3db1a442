#include "trust/issue.hpp"

#include <array>
#include <cstring>
#include <string>

#include "base/check.hpp"
#include "trust/openssl_library.hpp"

namespace paceline {
namespace {

constexpr long kVersion3 = 2;
constexpr int kSerialBits = 127;
constexpr const char* kCurve = "P-256";
constexpr const char* kCurveInKeys = "prime256v1";

using OwnedNumber = std::unique_ptr<BIGNUM, FreedBy<BN_free>>;
using OwnedExtension = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;

// What OpenSSL refuses here it refuses for want of memory, or by a mistake of ours.
void done(bool well) { check(well, "OpenSSL can make a certificate"); }

void set_serial(X509& certificate) {
  const OwnedNumber number(BN_new());
  done(number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
       BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr);
}

void set_validity(X509& certificate, const Validity& validity) {
  const auto seconds = [](WallTime at) {
    return static_cast<std::time_t>(
        std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count());
  };
  done(ASN1_TIME_set(X509_getm_notBefore(&certificate), seconds(validity.from)) != nullptr &&
       ASN1_TIME_set(X509_getm_notAfter(&certificate), seconds(validity.until)) != nullptr);
}

void set_subject(X509& certificate, std::string_view name) {
  done(X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(name.data()),
                                  static_cast<int>(name.size()), -1, 0) == 1);
}

void add(X509& certificate, X509V3_CTX& context, int kind, const std::string& value) {
  const OwnedExtension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  done(extension && X509_add_ext(&certificate, extension.get(), -1) == 1);
}

OwnedCertificate begin(EVP_PKEY& subject, std::string_view name, const Validity& validity) {
  OwnedCertificate certificate(X509_new());
  done(certificate && X509_set_version(certificate.get(), kVersion3) == 1 &&
       X509_set_pubkey(certificate.get(), &subject) == 1);
  set_serial(*certificate);
  set_validity(*certificate, validity);
  set_subject(*certificate, name);
  return certificate;
}

void sign(X509& certificate, EVP_PKEY& key) {
  done(X509_sign(&certificate, &key, EVP_sha256()) > 0);
}

}  // namespace

OwnedKey make_key() {
  // EVP_EC_gen(), which takes any number of arguments.
  const auto make =
      reinterpret_cast<decltype(&::EVP_PKEY_Q_keygen)>(openssl_symbol("EVP_PKEY_Q_keygen"));
  OwnedKey key(make(nullptr, nullptr, "EC", kCurve));
  done(key != nullptr);
  return key;
}

bool is_p256(const EVP_PKEY& key) {
  std::array<char, 32> group{};
  std::size_t size = 0;
  return EVP_PKEY_get_base_id(&key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(&key, group.data(), group.size(), &size) == 1 &&
         std::strcmp(group.data(), kCurveInKeys) == 0;
}

OwnedCertificate make_authority_certificate(EVP_PKEY& key, const Validity& validity) {
  auto certificate = begin(key, "Paceline authority", validity);
  done(X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) == 1);
  X509V3_CTX context{};
  X509V3_set_ctx(&context, certificate.get(), certificate.get(), nullptr, nullptr, 0);
  add(*certificate, context, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add(*certificate, context, NID_key_usage, "critical,keyCertSign,cRLSign");
  add(*certificate, context, NID_subject_key_identifier, "hash");
  sign(*certificate, key);
  return certificate;
}

OwnedCertificate issue_certificate(const Issuer& issuer, EVP_PKEY& subject,
                                   const CertificateName& name, const Validity& validity) {
  const bool server = name.holder == Holder::server;
  auto certificate = begin(subject, server ? "Paceline server" : "Paceline node", validity);
  done(X509_set_issuer_name(certificate.get(), X509_get_subject_name(&issuer.certificate)) == 1);
  X509V3_CTX context{};
  X509V3_set_ctx(&context, const_cast<X509*>(&issuer.certificate), certificate.get(), nullptr,
                 nullptr, 0);
  add(*certificate, context, NID_basic_constraints, "critical,CA:FALSE");
  add(*certificate, context, NID_key_usage, "critical,digitalSignature");
  add(*certificate, context, NID_ext_key_usage, server ? "serverAuth" : "clientAuth");
  add(*certificate, context, NID_subject_key_identifier, "hash");
  add(*certificate, context, NID_authority_key_identifier, "keyid:always");
  add(*certificate, context, NID_subject_alt_name, "URI:" + to_uri(name));
  sign(*certificate, issuer.key);
  return certificate;
}

OwnedRequest make_request(EVP_PKEY& key) {
  OwnedRequest request(X509_REQ_new());
  done(request && X509_REQ_set_version(request.get(), 0) == 1 &&
       X509_REQ_set_pubkey(request.get(), &key) == 1 &&
       X509_REQ_sign(request.get(), &key, EVP_sha256()) > 0);
  return request;
}

}  // namespace paceline
