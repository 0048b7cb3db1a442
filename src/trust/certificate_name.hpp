// What a certificate of ours names: the role of its holder, as a URI.
//
//   paceline:server
//   paceline:node:gpu-3:1     node gpu-3, the first identity that it was given
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

enum class Holder { server, node };

struct CertificateName {
  Holder holder = Holder::server;
  // Of a node alone:
  std::string node = {};     // its id: 1 to 63 letters, digits, '.', '_', '-'
  std::uint64_t serial = 0;  // which of the identities that were ever given for this id; from 1

  friend bool operator==(const CertificateName&, const CertificateName&) = default;
};

// May a node be called so?
bool is_node_id(std::string_view text);

// REQUIRES: a node has an id and a serial, the server has none.
std::string to_uri(const CertificateName& name);
// Nothing: to_uri() writes no such text.
std::optional<CertificateName> parse_certificate_name(std::string_view uri);

}  // namespace paceline
