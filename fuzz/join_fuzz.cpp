// The body of a machine's wish to join: whatever it is, what is taken of it is a node's name, a key that
// can be named, and no more bytes than may be kept; all else is refused with a sentence.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/join_wish.hpp"
#include "base/check.hpp"
#include "model/node.hpp"
#include "trust/certificate_name.hpp"
#include "trust/sha256.hpp"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = sha256_library().has_value();
  check(ready, "OpenSSL is there");
  const auto wish = read_join({reinterpret_cast<const char*>(data), size});
  if (!wish) {
    check(!wish.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  check(is_node_id(wish->newcomer.id), "it is a name for a node");
  check(wish->newcomer.machine.size() <= kMachineMax, "a machine's mark is short");
  check(wish->request.size() <= kCertificateRequestMax, "a request is short");
  check(sha256_from_hex(wish->newcomer.key).has_value(), "its key has a name");
  return 0;
}
