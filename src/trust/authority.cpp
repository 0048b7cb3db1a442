#include "trust/authority.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "files/own.hpp"
#include "files/private_file.hpp"
#include "trust/issue.hpp"
#include "trust/openssl_library.hpp"
#include "trust/pem.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAuthorityFile = "authority.pem";
constexpr std::size_t kRequestBytesMax = 4 << 10;
constexpr Duration kClocksErr = std::chrono::hours{1};

tl::unexpected<Error> damaged(const fs::path& file, std::string_view how) {
  return fail(
      ErrorCode::data, fmt::format("The authority in {} is damaged: {}.", file.string(), how),
      "Put a copy of the file back. Without one move it away: the server makes another authority "
      "when it starts, and everybody on other machines needs a new token.");
}

tl::unexpected<Error> no_good_request(std::string_view why) {
  return fail(ErrorCode::invalid, fmt::format("The request for a certificate {}.", why),
              "Let the machine make a new one.");
}

// One that is signed by the key that it is for.
Result<OwnedRequest> good_request(std::string_view text) {
  if (text.size() > kRequestBytesMax) return no_good_request("is over 4 KiB");
  auto request = read_request(text);
  if (!request) return no_good_request("is none in the form PKCS#10");
  EVP_PKEY* const key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || !is_p256(*key)) {
    ERR_clear_error();
    return no_good_request("has no key on the curve P-256");
  }
  const bool own = X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  if (!own) return no_good_request("is not signed by its own key");
  return request;
}

bool is_of_itself(const X509& certificate, EVP_PKEY& key) {
  const bool good = X509_check_private_key(&certificate, &key) == 1 &&
                    X509_check_ca(const_cast<X509*>(&certificate)) == 1 &&
                    X509_verify(const_cast<X509*>(&certificate), &key) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace

struct Authority::Parts {
  Parts(OwnedKey k, OwnedCertificate c)
      : key(std::move(k)),
        certificate(std::move(c)),
        pem(to_pem(*certificate)),
        fingerprint(fingerprint_of(*certificate)) {}

  OwnedKey key;
  OwnedCertificate certificate;
  std::string pem;
  Sha256 fingerprint;
};

Authority::Authority(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;
Authority::~Authority() = default;

const std::string& Authority::certificate() const { return parts_->pem; }
const Sha256& Authority::fingerprint() const { return parts_->fingerprint; }
Validity Authority::validity() const { return validity_of(*parts_->certificate); }

Result<Authority> Authority::open(const fs::path& dir, WallTime now) {
  if (auto there = openssl_library(); !there) return fail(std::move(there.error()));
  if (auto own = make_own_directory(dir, 0700); !own) return fail(std::move(own.error()));
  const auto file = dir / kAuthorityFile;
  const auto kept = read_private(file, kPemBytesMax);
  if (!kept) return fail(kept.error());
  if (*kept) {
    auto key = read_key(**kept);
    auto certificate = read_certificate(**kept);
    if (!key) return damaged(file, "it holds no key");
    if (!certificate) return damaged(file, "it holds no certificate");
    if (!is_p256(*key) || !is_of_itself(*certificate, *key))
      return damaged(file, "its key and its certificate don't belong together");
    return Authority(std::make_unique<Parts>(std::move(key), std::move(certificate)));
  }
  auto key = make_key();
  auto certificate = make_authority_certificate(*key, {now - kClocksErr, now + kAuthorityLifetime});
  if (auto written = write_private(file, to_pem(*key) + to_pem(*certificate)); !written)
    return fail(std::move(written.error()));
  return Authority(std::make_unique<Parts>(std::move(key), std::move(certificate)));
}

Result<Validity> Authority::validity_for(WallTime now, Duration lifetime) const {
  const auto own = validity();
  if (now < own.until)
    return Validity{std::max(now - kClocksErr, own.from), std::min(now + lifetime, own.until)};
  return fail(
      ErrorCode::conflict,
      fmt::format("The authority of this server ended at {}.", utc_text(own.until)),
      "Look at this machine's clock. If it is right, move the file authority.pem away: the server "
      "makes another when it starts, and everybody on other machines needs a new token.");
}

Result<ServerCredentials> Authority::issue_server(WallTime now, Duration lifetime) const {
  const auto validity = validity_for(now, lifetime);
  if (!validity) return fail(validity.error());
  const auto key = make_key();
  const auto certificate =
      issue_certificate({*parts_->certificate, *parts_->key}, *key, {}, *validity);
  return ServerCredentials{{to_pem(*key), to_pem(*certificate) + parts_->pem}, *validity};
}

Result<std::string> Authority::issue_node(const NodeRequest& asked, WallTime now,
                                          Duration lifetime) const {
  const auto request = good_request(asked.request);
  if (!request) return fail(request.error());
  EVP_PKEY* const key = X509_REQ_get0_pubkey(request->get());
  if (!is_node_id(asked.node) || asked.serial == 0) {
    return fail(ErrorCode::invalid, fmt::format("'{}' can't be the id of a node.", asked.node),
                "Use 1 to 63 letters, digits, '.', '_' or '-'.");
  }
  const auto validity = validity_for(now, lifetime);
  if (!validity) return fail(validity.error());
  const CertificateName name{Holder::node, std::string(asked.node), asked.serial};
  return to_pem(*issue_certificate({*parts_->certificate, *parts_->key}, *key, name, *validity));
}

Result<Sha256> fingerprint_of_request(std::string_view text) {
  const auto request = good_request(text);
  if (!request) return fail(request.error());
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(X509_REQ_get0_pubkey(request->get()), &der);
  check(size > 0, "a key that was read can be written");
  const auto sum = sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return sum;
}

}  // namespace paceline
