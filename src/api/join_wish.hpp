// What a machine says that wants to be a node: the body of POST /v1/join.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "joining/node_book.hpp"

namespace paceline {

inline constexpr std::size_t kCertificateRequestMax = 4 << 10;  // bytes

struct JoinWish {
  Newcomer newcomer;
  std::string request;  // PKCS#10, PEM
  std::string version;  // of its program
};

// Errors: invalid, too_large; each names the key and what it must be.
Result<JoinWish> read_join(std::string_view body);

}  // namespace paceline
