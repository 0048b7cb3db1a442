// Numbers as bytes, little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace paceline::runtime {

static_assert(std::endian::native == std::endian::little,
              "members exchange numbers as they lie in memory");

template <class T>
void put(std::vector<std::byte>& bytes, const T& value) {
  const auto* const begin = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}
// REQUIRES: at least so many bytes are left.
template <class T>
T take(std::span<const std::byte>& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return value;
}

}  // namespace paceline::runtime
