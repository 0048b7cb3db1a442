// Files and directories that match a checkpoint pattern. Pattern and directory are a user's, who can
// make them match without end (a directory with links to itself): the search is bounded in entries,
// depth, bytes and time. It runs in a process of that user (looker.hpp), because a file system may hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.hpp"

namespace paceline::agent {

// A file or a directory that matches. For a directory, size and time are those of all that is in
// it, within bounds.
struct CheckpointMatch {
  std::string path;  // absolute
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // since 1970
  bool renamed = false;          // into place (renames.hpp), and not written to since
  friend bool operator==(const CheckpointMatch&, const CheckpointMatch&) = default;
};

struct CheckpointSearch {
  std::vector<CheckpointMatch> matches;
  std::vector<std::string> directories;  // that were searched for matches
  bool cut = false;                      // at a limit: there may be more
};

struct SearchLimits {
  std::size_t entries = 100'000;     // looked at, of all directories together
  std::size_t path_bytes = 4 << 20;  // of all matches together
  std::size_t depth = 64;            // parts of a pattern
  std::size_t directories = 64;      // told
  Duration time = std::chrono::milliseconds{500};
};

// The usual ones, with so many entries and the time that these take on a slow disk.
SearchLimits search_limits(std::size_t entries);

// Everything that matches `pattern` (as glob(7) has it; relative to `directory`) and is newer than
// `newer_than_ns`, as the calling process sees it; names of files that are still being written
// (.tmp, .part, .partial, .incomplete, a leading dot, a trailing ~) aside. May block as long as the
// file system does.
CheckpointSearch find_checkpoints(const std::string& pattern, const std::string& directory,
                                  std::int64_t newer_than_ns, const SearchLimits& limits = {});

}  // namespace paceline::agent
