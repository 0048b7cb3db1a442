#include "trust/sha256.hpp"

#include <cstddef>

#include "base/check.hpp"
#include "trust/openssl_library.hpp"

namespace paceline {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

Result<void> sha256_library() { return openssl_library(); }

Sha256 sha256(std::string_view bytes) {
  Sha256 sum{};
  const int made =
      EVP_Digest(bytes.data(), bytes.size(), sum.data(), nullptr, EVP_sha256(), nullptr);
  check(made == 1, "OpenSSL can make a SHA-256");
  return sum;
}

struct Sha256Sum::State {
  State() : context(EVP_MD_CTX_new()) {
    check(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1,
          "OpenSSL can make a SHA-256");
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  EVP_MD_CTX* context;
};

Sha256Sum::Sha256Sum() : state_(std::make_unique<State>()) {}
Sha256Sum::~Sha256Sum() = default;
Sha256Sum::Sha256Sum(Sha256Sum&& other) noexcept = default;
Sha256Sum& Sha256Sum::operator=(Sha256Sum&& other) noexcept = default;

void Sha256Sum::add(std::string_view bytes) {
  check(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
        "OpenSSL can make a SHA-256");
}

Sha256 Sha256Sum::finish() {
  Sha256 sum{};
  check(EVP_DigestFinal_ex(state_->context, sum.data(), nullptr) == 1,
        "OpenSSL can make a SHA-256");
  return sum;
}

bool same(const Sha256& one, const Sha256& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string to_hex(const Sha256& sum) {
  std::string text;
  for (const auto byte : sum) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::optional<Sha256> sha256_from_hex(std::string_view text) {
  Sha256 sum{};
  if (text.size() != 2 * sum.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    sum[i / 2] = static_cast<std::uint8_t>(std::size_t{sum[i / 2]} << 4 | digit);
  }
  return sum;
}

}  // namespace paceline
