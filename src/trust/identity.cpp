#include "trust/identity.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "files/own.hpp"
#include "files/private_file.hpp"
#include "trust/issue.hpp"
#include "trust/openssl_library.hpp"
#include "trust/pem.hpp"

namespace paceline {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJoinAgain = "Move the file away, and let this machine join again.";

tl::unexpected<Error> damaged_identity(const fs::path& file, std::string_view how) {
  return fail(ErrorCode::data,
              fmt::format("The identity in {} is damaged: {}.", file.string(), how),
              std::string(kJoinAgain));
}

tl::unexpected<Error> not_accepted(std::string message, std::string hint) {
  return fail(ErrorCode::forbidden, std::move(message), std::move(hint));
}

bool belongs_to(const X509& certificate, const EVP_PKEY& key) {
  const bool same = X509_check_private_key(&certificate, &key) == 1;
  ERR_clear_error();
  return same;
}

Result<void> check_verdict(const Verdict& verdict, WallTime now) {
  switch (verdict.flaw) {
    case Flaw::none:
      return {};
    case Flaw::expired:
    case Flaw::early:
      return not_accepted(
          fmt::format("The certificate does not hold now: this machine's clock says {}, it holds "
                      "from {} to {}.",
                      utc_text(now), utc_text(verdict.validity.from),
                      utc_text(verdict.validity.until)),
          "Set the clock of this machine or of the server, then try again.");
    case Flaw::other_holder:
      return not_accepted("The certificate is not a node's.", "Try again with a new join token.");
    case Flaw::foreign:
      break;
  }
  return not_accepted("The certificate was issued by another authority.",
                      "Try again with a new join token.");
}

}  // namespace

Result<std::optional<Identity>> IdentityDir::read() const {
  if (auto there = openssl_library(); !there) return fail(std::move(there.error()));
  const auto file = identity_file();
  const auto kept = read_private(file, kPemBytesMax);
  if (!kept) return fail(kept.error());
  if (!*kept) return std::nullopt;
  const auto key = read_key(**kept);
  const auto certificates = read_certificates(**kept);
  if (!key) return damaged_identity(file, "it holds no key");
  if (certificates.size() != 2) return damaged_identity(file, "it lacks a certificate");
  auto name = name_of(*certificates[0]);
  if (!name || name->holder != Holder::node || !belongs_to(*certificates[0], *key))
    return damaged_identity(file, "its key and its certificate don't belong together");
  return Identity{{to_pem(*key), to_pem(*certificates[0])},
                  to_pem(*certificates[1]),
                  std::move(*name),
                  validity_of(*certificates[0])};
}

Result<std::string> IdentityDir::request() const {
  if (auto there = openssl_library(); !there) return fail(std::move(there.error()));
  if (auto own = make_own_directory(dir_, 0700); !own) return fail(std::move(own.error()));
  const auto kept = read_private(asking_file(), kPemBytesMax);
  if (!kept) return fail(kept.error());
  auto key = *kept ? read_key(**kept) : make_key();
  if (!key) return damaged_identity(asking_file(), "it holds no key");
  if (!*kept) {
    if (auto written = write_private(asking_file(), to_pem(*key)); !written)
      return fail(std::move(written.error()));
  }
  return to_pem(*make_request(*key));
}

Result<Identity> IdentityDir::accept(const IssuedIdentity& issued, const Sha256& expected,
                                     WallTime now) const {
  const auto kept = read_private(asking_file(), kPemBytesMax);
  if (!kept) return fail(kept.error());
  const auto key = *kept ? read_key(**kept) : nullptr;
  if (!key) {
    return fail(ErrorCode::conflict, "This machine asked for no certificate.",
                "Let it ask for one, then try again.");
  }
  const auto certificate = read_certificate(issued.certificate);
  const auto authority = read_certificate(issued.authority);
  if (!certificate || !authority || !same(fingerprint_of(*authority), expected))
    return fail(check_verdict({}, now).error());
  const auto verdict = judge(*certificate, *authority, Holder::node, now);
  if (auto good = check_verdict(verdict, now); !good) return fail(std::move(good.error()));
  if (!belongs_to(*certificate, *key)) {
    return not_accepted("The certificate is for another key than this machine's.",
                        "Try again with a new join token.");
  }
  Identity identity{
      {to_pem(*key), to_pem(*certificate)}, to_pem(*authority), verdict.name, verdict.validity};
  const auto text = identity.credentials.key + identity.credentials.chain + identity.authority;
  if (auto written = write_private(identity_file(), text); !written)
    return fail(std::move(written.error()));
  ::unlink(asking_file().c_str());
  return identity;
}

std::optional<Sha256> fingerprint_of(std::string_view certificate) {
  const auto read = read_certificate(certificate);
  return read ? std::optional(fingerprint_of(*read)) : std::nullopt;
}

}  // namespace paceline
