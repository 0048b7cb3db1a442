// Whatever is read as an entry of the journal, a job or a node is written in a form that reads back
// as the same text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "wire/entry_json.hpp"
#include "wire/state_json.hpp"

namespace {

using namespace paceline;

template <class T>
void try_reading(std::string_view text, Result<T> (*read)(std::string_view),
                 void (*write)(JsonWriter&, const T&)) {
  const auto first = read(text);
  if (!first) return;
  JsonWriter once, twice;
  write(once, *first);
  const auto second = read(once.text());
  check(second.has_value(), "what was written can be read");
  write(twice, *second);
  check(once.text() == twice.text(), "what was read is what was written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_reading(text, read_entry, write_entry);
  try_reading(text, read_stored_job, write_stored_job);
  try_reading(text, read_stored_node, write_stored_node);
  try_reading(text, read_state_header, write_state_header);
  return 0;
}
