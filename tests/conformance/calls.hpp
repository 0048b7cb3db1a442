// The system calls of a start and an end, and how the kernel may refuse each.
#pragma once

#include <span>
#include <string_view>

namespace paceline::conformance {

// Where a call says which file it works on.
enum class Names { nothing, descriptor, path, second_path };

struct Call {
  long number;
  std::string_view name;
  std::span<const int> errors;  // errno
  Names names = Names::nothing;
};

std::span<const Call> calls();
const Call* find_call(long number);
// REQUIRES: there is one of that name.
const Call& find_call(std::string_view name);

}  // namespace paceline::conformance
