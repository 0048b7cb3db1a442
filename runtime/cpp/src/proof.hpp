// How members prove to each other that they know the secret of their generation (HMAC-SHA-256 of
// RFC 2104 over what both sent), without sending it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace paceline::runtime {

using Digest = std::array<std::byte, 32>;

// Of the bytes, under a key of any length.
Digest proof(std::string_view secret, std::span<const std::byte> bytes);
// Takes as long whatever differs.
bool equal(const Digest& a, const Digest& b);
// Two small digits for each byte.
std::string hex(std::span<const std::byte> bytes);
// Fresh bytes that nobody can guess. False: the system gave none.
bool fill_with_chance(std::span<std::byte> bytes);

}  // namespace paceline::runtime
