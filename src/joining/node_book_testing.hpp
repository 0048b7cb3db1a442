// For tests of the book of nodes: who is invited when, and who comes.
#pragma once

#include <string>
#include <utility>

#include "joining/node_book.hpp"

namespace paceline::testing {

inline constexpr WallTime kInvitedAt = wall_from_us(1'763'636'100'000'000);
inline constexpr Duration kInvitedFor = std::chrono::hours{1};

// One for each letter.
inline std::string digest_of(char c) { return std::string(64, c); }

inline Newcomer machine(const std::string& id, char key = '1') {
  return {.id = id, .machine = "machine of " + id, .key = digest_of(key)};
}

}  // namespace paceline::testing
