#include "proof.hpp"

#include <openssl/sha.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace paceline::runtime {
namespace {

// SHA-256 through calls that need no more of OpenSSL than the digest itself: the library carries it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
class Sha256 {
 public:
  Sha256() { SHA256_Init(&context_); }
  void take(const void* bytes, std::size_t size) { SHA256_Update(&context_, bytes, size); }
  Digest end() {
    Digest digest;
    SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context_);
    return digest;
  }

 private:
  SHA256_CTX context_;
};
#pragma GCC diagnostic pop

constexpr std::size_t kBlock = SHA256_CBLOCK;

}  // namespace

Digest proof(std::string_view secret, std::span<const std::byte> bytes) {
  std::array<unsigned char, kBlock> key{};
  if (secret.size() > kBlock) {
    Sha256 hash;
    hash.take(secret.data(), secret.size());
    const Digest digest = hash.end();
    std::memcpy(key.data(), digest.data(), digest.size());
  } else {
    std::memcpy(key.data(), secret.data(), secret.size());
  }
  const auto padded = [&](unsigned char pad) {
    auto block = key;
    for (auto& each : block) each ^= pad;
    return block;
  };
  const auto inner_key = padded(0x36), outer_key = padded(0x5c);
  Sha256 inner, outer;
  inner.take(inner_key.data(), kBlock);
  inner.take(bytes.data(), bytes.size());
  const Digest digest = inner.end();
  outer.take(outer_key.data(), kBlock);
  outer.take(digest.data(), digest.size());
  return outer.end();
}

bool equal(const Digest& a, const Digest& b) {
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs |= std::to_integer<unsigned>(a[i] ^ b[i]);
  return differs == 0;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes)
    for (const int shift : {4, 0})
      text += "0123456789abcdef"[(std::to_integer<unsigned>(each) >> shift) & 15U];
  return text;
}

bool fill_with_chance(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace paceline::runtime
