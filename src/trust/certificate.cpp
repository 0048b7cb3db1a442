#include "trust/certificate.hpp"

#include <fmt/chrono.h>

#include <ctime>

#include "base/check.hpp"
#include "trust/openssl_library.hpp"
#include "trust/pem.hpp"

namespace paceline {
namespace {

using OwnedNames = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;
using OwnedStore = std::unique_ptr<X509_STORE, FreedBy<X509_STORE_free>>;
using OwnedJudge = std::unique_ptr<X509_STORE_CTX, FreedBy<X509_STORE_CTX_free>>;

WallTime time_of(const ASN1_TIME* at) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(at, &parts) != 1) return {};
  return WallTime{std::chrono::seconds{::timegm(&parts)}};
}

std::time_t seconds_of(WallTime at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

Flaw flaw_of(int code) {
  switch (code) {
    case X509_V_OK:
      return Flaw::none;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Flaw::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Flaw::early;
    case X509_V_ERR_INVALID_PURPOSE:
      return Flaw::other_holder;
    default:
      return Flaw::foreign;
  }
}

}  // namespace

Verdict judge(const X509& certificate, const X509& authority, Holder expected, WallTime now) {
  const OwnedStore store(X509_STORE_new());
  const OwnedJudge judge(X509_STORE_CTX_new());
  check(store && judge, "OpenSSL has memory");
  // OpenSSL counts references in what it is handed; the certificates stay as they are.
  auto* const leaf = const_cast<X509*>(&certificate);
  const bool ready =
      X509_STORE_add_cert(store.get(), const_cast<X509*>(&authority)) == 1 &&
      X509_STORE_CTX_init(judge.get(), store.get(), leaf, nullptr) == 1 &&
      X509_STORE_CTX_set_default(judge.get(),
                                 expected == Holder::server ? "ssl_server" : "ssl_client") == 1;
  check(ready, "OpenSSL can judge a certificate");
  auto* const how = X509_STORE_CTX_get0_param(judge.get());
  X509_VERIFY_PARAM_set_depth(how, 0);
  X509_VERIFY_PARAM_set_time(how, seconds_of(now));
  const bool good = X509_verify_cert(judge.get()) == 1;
  ERR_clear_error();
  Verdict verdict;
  verdict.flaw = good ? Flaw::none : flaw_of(X509_STORE_CTX_get_error(judge.get()));
  if (!good && verdict.flaw == Flaw::none) verdict.flaw = Flaw::foreign;
  const X509* const judged = X509_STORE_CTX_get_current_cert(judge.get());
  verdict.validity = validity_of(!good && judged != nullptr ? *judged : certificate);
  if (!good) return verdict;
  auto name = name_of(certificate);
  if (name && name->holder == expected)
    verdict.name = std::move(*name);
  else
    verdict.flaw = Flaw::other_holder;
  return verdict;
}

Verdict judge(std::string_view certificate, std::string_view authority, Holder expected,
              WallTime now) {
  const auto leaf = read_certificate(certificate);
  const auto root = read_certificate(authority);
  if (!leaf || !root) return {};
  return judge(*leaf, *root, expected, now);
}

std::optional<CertificateName> name_of(const X509& certificate) {
  const OwnedNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names || sk_GENERAL_NAME_num(names.get()) != 1) return std::nullopt;
  const GENERAL_NAME* const only = sk_GENERAL_NAME_value(names.get(), 0);
  if (only->type != GEN_URI) return std::nullopt;
  const ASN1_STRING* const uri = only->d.uniformResourceIdentifier;
  return parse_certificate_name({reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                                 static_cast<std::size_t>(ASN1_STRING_length(uri))});
}

Validity validity_of(const X509& certificate) {
  return {time_of(X509_get0_notBefore(&certificate)), time_of(X509_get0_notAfter(&certificate))};
}

Sha256 fingerprint_of(const X509& certificate) {
  Sha256 sum{};
  const int made = X509_digest(&certificate, EVP_sha256(), sum.data(), nullptr);
  check(made == 1, "OpenSSL can make a SHA-256");
  return sum;
}

std::string utc_text(WallTime at) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds_of(at)));
}

}  // namespace paceline
