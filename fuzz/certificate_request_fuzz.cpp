// What a machine that wants to join hands in, and what a server hands back: whatever it is, what the
// authority issues names the node that it was told and nobody else, and no other certificate is good.
#include <fmt/format.h>
#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "files/temp_folder_testing.hpp"
#include "trust/authority.hpp"
#include "trust/certificate.hpp"

using namespace paceline;

namespace {

constexpr WallTime kFuzzNow = wall_from_us(1'800'000'000'000'000);

Authority make_fuzz_authority() {
  const TempFolder folder;
  auto authority = Authority::open(folder.path(), kFuzzNow);
  check(authority.has_value(), "an authority can be made");
  return std::move(*authority);
}

// The bytes themselves, as PEM carries them.
std::string in_pem(std::string_view kind, const std::uint8_t* data, std::size_t size) {
  std::string lines(4 * (size / 3 + 1) + 1, '\0');
  const auto count =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(lines.data()), data, static_cast<int>(size));
  lines.resize(static_cast<std::size_t>(count));
  for (std::size_t at = 64; at < lines.size(); at += 65) lines.insert(at, 1, '\n');
  return fmt::format("-----BEGIN {0}-----\n{1}\n-----END {0}-----\n", kind, lines);
}

void try_request(const Authority& authority, std::string_view text) {
  const auto issued = authority.issue_node({text, "gpu-1", 3}, kFuzzNow);
  if (issued) {
    const auto verdict = judge(*issued, authority.certificate(), Holder::node, kFuzzNow);
    check(verdict.flaw == Flaw::none, "what the authority issues is good");
    check(verdict.name == CertificateName{Holder::node, "gpu-1", 3}, "it names who it is for");
    const auto as_server = judge(*issued, authority.certificate(), Holder::server, kFuzzNow);
    check(as_server.flaw == Flaw::other_holder, "a node is no server");
  } else {
    check(!issued.error().message.empty(), "an error says what is wrong");
  }
}

void try_certificate(const Authority& authority, std::string_view text) {
  for (const auto holder : {Holder::server, Holder::node})
    check(judge(text, authority.certificate(), holder, kFuzzNow).flaw != Flaw::none,
          "the authority signed nothing else");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Authority authority = make_fuzz_authority();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_request(authority, text);
  try_certificate(authority, text);
  if (size > 8 << 10) return 0;
  try_request(authority, in_pem("CERTIFICATE REQUEST", data, size));
  try_certificate(authority, in_pem("CERTIFICATE", data, size));
  return 0;
}
