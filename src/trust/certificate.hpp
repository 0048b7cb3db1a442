// What stands in a certificate of ours, and whether it is good.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "trust/certificate_name.hpp"
#include "trust/sha256.hpp"

struct x509_st;

namespace paceline {

// When a certificate holds.
struct Validity {
  WallTime from{};
  WallTime until{};

  // When two thirds of it are over.
  [[nodiscard]] WallTime renew_at() const { return from + (until - from) / 3 * 2; }
  // Also where the clock was ahead when it was issued, and was set right since.
  [[nodiscard]] bool wants_renewal(WallTime now) const { return now < from || now >= renew_at(); }
  friend bool operator==(const Validity&, const Validity&) = default;
};

// A private key, and its certificate with those that it stands on behind it. PEM; the key is a
// secret.
struct Credentials {
  std::string key;
  std::string chain;
};

enum class Flaw {
  none,
  foreign,       // another authority's, or damaged
  expired,       // by this machine's clock
  early,         // not yet valid, by this machine's clock
  other_holder,  // ours, but not for the holder that is expected there
};

struct Verdict {
  Flaw flaw = Flaw::foreign;
  Validity validity = {};     // of the certificate that has the flaw, or of the one that was judged
  CertificateName name = {};  // where there is no flaw
};

// Did `authority` issue `certificate` to such a holder, and does it hold at `now`? Nothing about the
// machine is compared: no host name, no address.
Verdict judge(const x509_st& certificate, const x509_st& authority, Holder expected, WallTime now);
// The same of PEM texts.
Verdict judge(std::string_view certificate, std::string_view authority, Holder expected,
              WallTime now);

// What it names. Nothing: not exactly one name of ours.
std::optional<CertificateName> name_of(const x509_st& certificate);
Validity validity_of(const x509_st& certificate);
// Of all of it, as it goes over the wire.
Sha256 fingerprint_of(const x509_st& certificate);

// "2026-11-24 03:28:00 UTC"
std::string utc_text(WallTime at);

}  // namespace paceline
