// Whatever is read as a frame between server and agent is written in a form that reads back as the
// same text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "wire/agent_protocol.hpp"

namespace {

using namespace paceline;

template <class Read>
void try_reading(std::string_view text, Read read) {
  const auto first = read(text);
  if (!first) return;
  const auto once = encode(*first);
  const auto second = read(once);
  check(second.has_value(), "what was written can be read");
  check(encode(*second) == once, "what was read is what was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_reading(text, paceline::decode_agent_frame);
  try_reading(text, paceline::decode_server_frame);
  return 0;
}
