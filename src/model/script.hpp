// Bounds on the policies that people bring.
#pragma once

#include <cstddef>

namespace paceline {

inline constexpr std::size_t kScriptBytesMax = 256U << 10;  // of one

}  // namespace paceline
