// SHA-256: what is kept of a secret, and what names a certificate.
//
//   const Sha256 kept = sha256(token.text());
//   if (same(kept, sha256(shown))) …
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);

// Takes as long wherever they differ.
bool same(const Sha256& one, const Sha256& other);

// 64 small hexadecimal digits, and back. Nothing: it isn't written so.
std::string to_hex(const Sha256& sum);
std::optional<Sha256> sha256_from_hex(std::string_view text);

}  // namespace paceline
