// The digest that stands beside a stored text, so that a damaged row is noticed. For store/sqlite
// alone.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/digest.hpp"

namespace paceline {

inline std::int64_t sum_of(std::string_view text) {
  return std::bit_cast<std::int64_t>(Digest().add(text).value());
}

}  // namespace paceline
