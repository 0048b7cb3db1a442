// Numbers that whoever runs the tests may set.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace paceline::testing {

// Of an environment variable.
inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace paceline::testing
