// A token, or the name in a certificate, is read only if it is exactly what would be written for
// what was read of it; and no error repeats what may be a secret.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "trust/certificate_name.hpp"
#include "trust/token.hpp"

using namespace paceline;

namespace {

constexpr std::size_t kSecretLength = 16;

void try_token(std::string_view text, TokenKind kind) {
  const auto token = Token::parse(text, kind);
  if (token) {
    check(token->text() == text, "a token is what was written");
    return;
  }
  const auto& error = token.error();
  check(!error.message.empty() && !error.hint.empty(),
        "an error says what is wrong, and what to do");
  if (text.size() < kSecretLength) return;
  const auto end = text.substr(text.size() - kSecretLength);
  if (end.find(' ') != std::string_view::npos) return;  // no secret: words of the error itself
  check(error.message.find(end) == std::string::npos && error.hint.find(end) == std::string::npos,
        "an error tells no secret");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_token(text, TokenKind::join);
  try_token(text, TokenKind::user);
  if (const auto name = parse_certificate_name(text))
    check(to_uri(*name) == text, "a certificate's name is what was written");
  return 0;
}
