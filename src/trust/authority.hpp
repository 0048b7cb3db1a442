// The authority of one server: whom it vouches for, its server and its nodes believe to be theirs.
// It is a key and a certificate in one file, which nothing but the server reads and which is never
// sent anywhere. Whoever has the file can be the server to every node.
//
//   auto authority = Authority::open(dir / "trust", clock.wall());
//   auto server = authority->issue_server(clock.wall());
//   auto node = authority->issue_node({.request = pem, .node = "gpu-3", .serial = 1}, clock.wall());
//
// It reads no clock: `now` is what the wall clock shows. What it issues begins an hour earlier, for
// machines whose clocks err, and never outlives the authority.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "trust/certificate.hpp"
#include "trust/sha256.hpp"

namespace paceline {

inline constexpr Duration kAuthorityLifetime = std::chrono::hours{10 * 365 * 24};
inline constexpr Duration kCertificateLifetime = std::chrono::hours{365 * 24};

// The server's key and certificate. They are kept nowhere: a server gets new ones when it starts,
// and again at validity.renew_at().
struct ServerCredentials {
  Credentials credentials;  // with the authority's certificate at the end of the chain
  Validity validity;
};

struct NodeRequest {
  std::string_view request;  // PKCS#10, PEM: of it the public key is taken, and nothing else
  std::string_view node;     // its id
  std::uint64_t serial = 0;  // which identity of it, from 1
};

// Of the public key that a request is for: another request for the same key has the same. Errors:
// invalid, as those of issue_node().
Result<Sha256> fingerprint_of_request(std::string_view request);

class Authority {
 public:
  // Reads the authority that is kept in `dir`, or makes one, on the disk before it is used. Errors:
  // forbidden (the directory or the file is not this user's alone), data (damaged), storage.
  static Result<Authority> open(const std::filesystem::path& dir, WallTime now);

  Authority(Authority&&) noexcept;
  Authority& operator=(Authority&&) noexcept;
  ~Authority();

  // PEM; no secret.
  [[nodiscard]] const std::string& certificate() const;
  [[nodiscard]] const Sha256& fingerprint() const;
  [[nodiscard]] Validity validity() const;

  // Errors: conflict: the authority is over.
  [[nodiscard]] Result<ServerCredentials> issue_server(
      WallTime now, Duration lifetime = kCertificateLifetime) const;
  // The node's certificate, PEM. Errors: invalid (no request, over 4 KiB, not signed by its own key,
  // another kind of key, no id for a node), conflict: the authority is over.
  [[nodiscard]] Result<std::string> issue_node(const NodeRequest& request, WallTime now,
                                               Duration lifetime = kCertificateLifetime) const;

 private:
  struct Parts;
  explicit Authority(std::unique_ptr<Parts> parts);
  [[nodiscard]] Result<Validity> validity_for(WallTime now, Duration lifetime) const;

  std::unique_ptr<Parts> parts_;
};

}  // namespace paceline
