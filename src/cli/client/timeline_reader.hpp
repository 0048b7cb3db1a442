// Reads what is kept of a job's timeline, page by page as logs are read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.hpp"
#include "cli/client/api.hpp"
#include "wire/timeline.hpp"

namespace paceline {

struct TimelineQuery {
  std::uint32_t job = 0;
  std::optional<std::int64_t> rank = {};  // of the log beside it; nothing: all
};

// Of each process the pieces in their order; of the process whose log has that number. False: no
// more is wanted.
using TakePiece = std::function<bool(std::int32_t number, TimelinePiece piece)>;

// All there is now. What was cut off at the edge of bytes that were removed is passed over. Errors:
// what the server says.
Result<void> read_timeline(Api& api, const TimelineQuery& query, const TakePiece& take);

}  // namespace paceline
