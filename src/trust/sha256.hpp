// SHA-256: what is kept of a secret, and what names a certificate.
//
//   const Sha256 kept = sha256(token.text());
//   if (same(kept, sha256(shown))) …
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

using Sha256 = std::array<std::uint8_t, 32>;

// Errors: unavailable: this machine lacks what it takes (OpenSSL). Then nothing else here may be called.
Result<void> sha256_library();

Sha256 sha256(std::string_view bytes);

// The same of bytes that come in pieces.
class Sha256Sum {
 public:
  Sha256Sum();
  ~Sha256Sum();
  Sha256Sum(Sha256Sum&& other) noexcept;
  Sha256Sum& operator=(Sha256Sum&& other) noexcept;

  void add(std::string_view bytes);
  // Once, and nothing after it.
  Sha256 finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Takes as long wherever they differ.
bool same(const Sha256& one, const Sha256& other);

// 64 small hexadecimal digits, and back. Nothing: it isn't written so.
std::string to_hex(const Sha256& sum);
std::optional<Sha256> sha256_from_hex(std::string_view text);

}  // namespace paceline
