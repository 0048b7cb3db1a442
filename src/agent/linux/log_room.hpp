// The room that logs take on the disk, and how they give of it: by holes, so that a log keeps its
// length and offsets into it stay what they were (api/log_files.hpp tells a reader what is missing).
// Only files that the server made are looked at: links and the like are passed over.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.hpp"

namespace paceline::agent {

// Of a log with the times beside it (files/log_times.hpp).
struct LogRoom {
  std::uint32_t uid = 0;
  std::uint64_t bytes = 0;  // that take room
  std::int64_t written_ns = 0;
};

// The numbers of the logs and timelines of a job (files/log_names.hpp), in no order.
std::vector<std::int32_t> logs_of(const std::string& server_directory, JobId job);

std::uint64_t room_in(const struct stat& info);
// Nothing where it takes none, or is no log.
std::optional<LogRoom> room_of(const std::string& log);

// Behind every byte of a log.
inline constexpr std::uint64_t kLogEnd = std::numeric_limits<std::uint64_t>::max();

// Which bytes of a log may go: so many of the oldest that take room, but none before `from` nor from
// `last` on.
struct OldBytes {
  std::uint64_t bytes = 0;
  std::uint64_t from = 0;
  std::uint64_t last = kLogEnd;
};

// What went: the bytes [begin, end) of the log, and the room that it takes less.
struct RemovedBytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t room = 0;
  bool refused = false;  // by a file system that makes no holes, or none now
};

// Removes whole blocks; of a log of which nothing is left the times, too. What can't be removed is said in the server's log, and stays.
RemovedBytes remove_bytes(const std::string& log, const OldBytes& old);

}  // namespace paceline::agent
