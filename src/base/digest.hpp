// A running 64-bit digest (FNV-1a) of everything fed to it in order: two runs of one seed are equal
// if and only if their digests are compared equal. Not for security.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace paceline {

class Digest {
 public:
  constexpr Digest& add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) byte(static_cast<unsigned char>(word >> (8 * i)));
    return *this;
  }
  constexpr Digest& add(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    return add(text.size());
  }
  constexpr Digest& add(double value) { return add(std::bit_cast<std::uint64_t>(value)); }

  [[nodiscard]] constexpr std::uint64_t value() const { return hash_; }

 private:
  constexpr void byte(unsigned char b) { hash_ = (hash_ ^ b) * 0x100000001b3ULL; }

  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace paceline
