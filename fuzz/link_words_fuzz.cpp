// What a server says to an agent beside frames: whatever is read as a greeting or a refusal is written in a
// form that reads back as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "link/link_words.hpp"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (const auto greeting = decode_greeting(line)) {
    check(greeting->beat.count() > 0, "an agent says something now and then");
    check(decode_greeting(encode(*greeting)) == *greeting, "what was read is what was written");
  } else {
    check(!greeting.error().message.empty(), "an error says what is wrong");
  }
  if (const auto refusal = decode_refusal(line)) {
    const auto again = decode_refusal(encode_refusal(*refusal));
    check(again && again->code == refusal->code && again->message == refusal->message,
          "what was read is what was written");
  }
  return 0;
}
