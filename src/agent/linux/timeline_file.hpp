// The timeline of a job's processes of one number: DIR/logs/<job>/rank<n>.timeline, beside the log
// and under its rules: the owner's, mode 0600, appended to over attempts and generations, and
// removed with it. It is bounded: the oldest bytes go, by holes (log_room.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline::agent {

// Of what takes room on the disk.
inline constexpr std::uint64_t kTimelineBytes = 4 << 20;

// Appends a line, which has its end, and gives a new file to the user `uid`. Where the file takes
// twice its room, as on a file system that makes no holes, the line is left out. Errors: storage,
// forbidden, conflict (a lease).
Result<void> add_to_timeline(const std::string& path, std::uint32_t uid, std::string_view line);

// Removes what is too much of it. Cheap where nothing is.
void hold_timeline(const std::string& path);

}  // namespace paceline::agent
