// A claim is read only if it is exactly what would be written for what was read of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/linux/claim.hpp"
#include "base/check.hpp"

namespace {

using namespace paceline;
using namespace paceline::agent;

void try_order(std::string_view text) {
  const auto order = parse_order(text);
  if (!order) return;
  const bool plain = text.starts_with("key");
  check(to_text(*order, plain ? ClaimFormat::plain : ClaimFormat::sealed) == text,
        "an order is what was written");
}

// Two endings that read the same are written the same.
void try_ending(std::string_view text) {
  const auto ending = parse_ending(text);
  if (!ending) return;
  const auto again = parse_ending(to_text(*ending));
  check(again && to_text(*again) == to_text(*ending), "an ending that was written can be read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_order(text);
  try_ending(text);
  if (const auto key = parse_claim_name(text))
    check(parse_claim_name(claim_name(*key)) == key, "a claim's name names it");
  return 0;
}
