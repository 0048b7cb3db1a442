// A script that knows nothing of Paceline acknowledges a checkpoint by writing one: with
// `checkpoint: GLOB` a new complete match counts. Complete is what has not changed between two
// looks, or what is there once nobody is left to write.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paceline::agent {

// A file or a directory that matches. For a directory, size and time are those of all that is in
// it, within bounds.
struct CheckpointMatch {
  std::string path;  // absolute
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  // since 1970
};

// Everything that matches `pattern` (POSIX glob; relative to `directory`), seen with the rights of
// `uid`; names of files that are still being written (.tmp, .part, .partial, .incomplete, a leading
// dot, a trailing ~) aside. May block as long as the file system does.
std::vector<CheckpointMatch> find_checkpoints(const std::string& pattern,
                                              const std::string& directory, std::uint32_t uid);

// Decides what counts, over all looks of one worker's life.
class CheckpointWatch {
 public:
  // Only what is newer than the worker's start and than what an earlier watch saw (0: nothing)
  // counts.
  CheckpointWatch(std::int64_t started_us, std::int64_t newest_ns);

  // The newest match that is complete and newer than the last one. `final`: nobody is left to
  // write, so all matches are complete.
  std::optional<std::string> look(const std::vector<CheckpointMatch>& matches, bool final);
  // When the last one that counted was written.
  [[nodiscard]] std::int64_t newest_ns() const { return newest_ns_; }

 private:
  std::int64_t newest_ns_;
  std::map<std::string, CheckpointMatch> last_;
};

}  // namespace paceline::agent
