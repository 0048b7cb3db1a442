// A script that knows nothing of Paceline acknowledges a checkpoint by writing one: with
// `checkpoint: GLOB` a new complete match counts. Complete is what was renamed into place,
// what has not changed between two looks, and all that is there once its worker has ended by itself:
// one that was killed may have been in the middle of writing it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/linux/checkpoint_search.hpp"

namespace paceline::agent {

// Decides what counts, over all looks of one worker's life.
class CheckpointWatch {
 public:
  // Only what is newer than the worker's start and than what an earlier watch saw (0: nothing)
  // counts.
  CheckpointWatch(std::int64_t started_us, std::int64_t newest_ns);

  // The newest match that is complete and newer than the last one. `all_written`: the worker ended
  // by itself, so all matches are complete.
  std::optional<std::string> look(const std::vector<CheckpointMatch>& matches, bool all_written);
  // When the last one that counted was written.
  [[nodiscard]] std::int64_t newest_ns() const { return newest_ns_; }

 private:
  std::int64_t newest_ns_;
  std::map<std::string, CheckpointMatch> last_;
};

}  // namespace paceline::agent
