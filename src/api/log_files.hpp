// The logs of one job, one file per rank: DIR/logs/<job>/rank<r>.log. They only grow, over attempts
// and generations, while they are read. A reader trusts nothing in that folder: links and anything
// but plain files are passed over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/worker_output.hpp"
#include "model/ids.hpp"

namespace paceline {

class LogFiles {
 public:
  LogFiles(const std::filesystem::path& directory, JobId job);

  // Ranks below kLogRanksMax that have a log, ascending.
  [[nodiscard]] std::vector<std::int32_t> ranks() const;
  // 0 if there is no log.
  [[nodiscard]] std::uint64_t size(std::int32_t rank) const;

  // What comes after `offset`, at most `bytes_max`; nothing if there is nothing (yet). A hole, from
  // which bytes were removed (agent/linux/log_limit.hpp) or into which none were ever written, is one
  // piece, however long, whose text is a line that says how many.
  [[nodiscard]] std::optional<LogChunk> read(std::int32_t rank, std::uint64_t offset,
                                             std::size_t bytes_max, LogCut cut) const;

  // Where the last `bytes` begin, moved on to the start of a line.
  [[nodiscard]] std::uint64_t tail(std::int32_t rank, std::uint64_t bytes) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(std::int32_t rank) const;

  std::filesystem::path folder_;
};

}  // namespace paceline
