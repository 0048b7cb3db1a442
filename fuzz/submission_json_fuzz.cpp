// A submission from outside: whatever is read must be valid and come back equal.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "wire/submission_json.hpp"

using namespace paceline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = read_submission({reinterpret_cast<const char*>(data), size});
  if (!read) {
    check(!read.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  check(validate(read->spec).has_value(), "a spec that was read is valid");
  check(validate(read->launch).has_value(), "a launch that was read is valid");
  const auto again = read_submission(submission_body(*read));
  check(again.has_value() && *again == *read, "what was read comes back equal");
  return 0;
}
