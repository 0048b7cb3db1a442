// Where the time of a worker's training went, piece by piece, as JSON: the body of the worker
// socket's POST /v1/timeline, and the lines that are kept of it (files/log_names.hpp), to which the
// agent adds whose they are. A line holds all that is needed to read it: others may be missing.
//
//   {"attempt": 1, "born": 2, "node": "gpu-3",           // added by the agent
//    "pid": 4711, "rank": 1, "size": 4, "generation": 3, // who tells it, and its place
//    "clock": {"offset_us": -120, "uncertainty_us": 35, "wall_us": 1763636100000000},
//    "from_us": 8123456, "at_us": 1002000, "ended": false,
//    "open": [["compute", 57, 1001000]],
//    "spans": [["data", 57, 1000000, 1000], …], "beside": [["write", 40, 200, 90000], …]}
//
// Times are microseconds. `from_us` is of the worker's monotonic clock; all others that say when
// count from there. With `offset_us` added it is the gang's clock, to within `uncertainty_us`; with
// `wall_us`, too, the time since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline {

inline constexpr std::size_t kTimelineBytesMax = 64 << 10;  // of a piece
inline constexpr std::size_t kSpanNameMax = 32;
inline constexpr std::size_t kOpenSpansMax = 16;

struct TimelineSpan {
  std::string name;
  std::uint64_t step = 0;
  std::int64_t start_us = 0;
  std::int64_t duration_us = 0;
  friend bool operator==(const TimelineSpan&, const TimelineSpan&) = default;
};

struct TimelinePiece {
  // Added by the agent.
  std::uint32_t attempt = 0;
  std::uint32_t born = 0;  // the generation that the process was started in
  std::string node;

  std::uint32_t pid = 0;  // as the process itself knows it: a worker may have several that tell
  std::int32_t rank = 0, size = 1;
  std::uint32_t generation = 0;
  std::int64_t offset_us = 0, uncertainty_us = 0, wall_us = 0;
  std::int64_t from_us = 0;
  std::int64_t at_us = 0;  // when the piece was made
  bool ended = false;      // the process tells no more
  std::vector<TimelineSpan>
      open;  // what went on still, from the outermost in; they have no duration
  std::vector<TimelineSpan> spans;   // of the training, that ended since the piece before
  std::vector<TimelineSpan> beside;  // of what goes on beside it

  friend bool operator==(const TimelinePiece&, const TimelinePiece&) = default;
};

// What a worker said. Errors: invalid (names the key and what it must be), too_large.
Result<TimelinePiece> parse_timeline(std::string_view body);
// A line as it was kept. Errors: as above.
Result<TimelinePiece> parse_timeline_line(std::string_view line);
// With its end.
std::string timeline_line(const TimelinePiece& piece);

}  // namespace paceline
