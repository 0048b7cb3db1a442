// What an operation is, in the words that members compare.
#pragma once

#include <cstdint>
#include <string>

#include "failure.hpp"

namespace paceline::runtime {

// What stands before each message, so that members which call different operations are told so instead
// of taking one's bytes for the other's.
struct Head {
  enum class Kind : std::uint8_t {
    all_reduce,
    broadcast,
    all_gather,
    reduce_scatter,
    barrier,
    message
  };

  std::uint64_t number = 0;  // of the operation, in this group; of a message, between the two
  Kind kind{};
  std::uint8_t type = 0, op = 0, step = 0;
  std::int32_t root = -1;
  std::uint64_t count = 0;  // elements, or bytes where there is no type

  friend bool operator==(const Head&, const Head&) = default;
};
std::string describe(const Head& head);  // "all_reduce (sum of 10 float32)"
// Two ranks call different operations.
Failure differing(int own_rank, const Head& mine, int rank, const Head& theirs);

}  // namespace paceline::runtime
