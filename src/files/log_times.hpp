// When a worker's log grew: what stands beside it in DIR/logs/<job>/rank<n>.times. The worker writes
// the log itself and tells no times, so the agent looks at its length several times a second
// (files/log_times_writer.hpp), and a reader of several logs puts them in order by what it noted
// (files/log_times_reader.hpp).
//
// The file is a sequence of LogTime as this machine holds them, lengths ascending, at most
// kLogTimesMax: then every other one is left out, so that the further back, the coarser they are. A
// last one that was not written whole does not count.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paceline {

// At that time of the wall clock the log was so long.
struct LogTime {
  std::int64_t at_us = 0;
  std::uint64_t length = 0;
  friend bool operator==(const LogTime&, const LogTime&) = default;
};
static_assert(sizeof(LogTime) == 16);

inline constexpr std::size_t kLogTimesMax = 8192;

}  // namespace paceline
