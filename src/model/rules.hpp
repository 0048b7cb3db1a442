// How jobs are disturbed under every policy, as an admin of the server says. Rules are in the
// journal, so that a replay decides by them, too.
#pragma once

#include <optional>

#include "base/time.hpp"

namespace paceline {

struct Rules {
  // So long after it was told a job that never saved may be stopped for others; 0: at once, as
  // where nothing was said.
  std::optional<Duration> reclaim_after = {};
  friend bool operator==(const Rules&, const Rules&) = default;
};

inline constexpr Duration kReclaimAfter = std::chrono::minutes{10};  // where nobody says another
inline constexpr Duration kReclaimAfterMax = std::chrono::hours{24 * 366};

}  // namespace paceline
