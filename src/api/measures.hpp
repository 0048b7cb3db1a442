// What the server's process measures of itself, for GET /metrics.
#pragma once

#include <array>
#include <cstdint>

#include "api/histogram.hpp"

namespace paceline {

// Seconds that turns of the server's loop took: nobody is answered meanwhile.
inline constexpr std::array kTurnBounds = {0.0001, 0.0003, 0.001, 0.003, 0.01,
                                           0.03,   0.1,    0.3,   1.0,   3.0};
using TurnTimes = Histogram<kTurnBounds.size()>;

struct Measures {
  TurnTimes turns{kTurnBounds};
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t open_files = 0;
  std::uint64_t database_bytes = 0;  // with its write-ahead log
  std::uint64_t segment_bytes = 0;   // of the journal
  std::uint64_t disk_free_bytes = 0;
};

}  // namespace paceline
