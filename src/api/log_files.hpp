// The logs of one job, one file per rank, or its timelines (files/log_names.hpp), with the times of
// their growth beside them. They only grow, over attempts and generations, while they are read. A
// reader trusts nothing in that folder: links and anything but plain files are passed over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <vector>

#include "api/worker_output.hpp"
#include "files/log_names.hpp"
#include "files/log_times.hpp"
#include "model/ids.hpp"

namespace paceline {

class LogFiles {
 public:
  LogFiles(const std::filesystem::path& directory, JobId job, LogKind kind = LogKind::log);

  // Ranks below kLogRanksMax that have a log, ascending.
  [[nodiscard]] std::vector<std::int32_t> ranks() const;
  // 0 if there is no log.
  [[nodiscard]] std::uint64_t size(std::int32_t rank) const;

  struct Piece {
    std::size_t bytes_max = 0;
    LogCut cut = LogCut::anywhere;
    // Where a line ends before this offset the piece ends with the last that does, else with the
    // first that ends behind it, as far as 64 KiB behind it.
    std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
  };
  // What comes after `offset`; nothing if there is nothing (yet). A hole, from which bytes were
  // removed (agent/linux/log_room.hpp) or into which none were ever written, is one piece, however
  // long, whose text is a line that says how many.
  [[nodiscard]] std::optional<LogChunk> read(std::int32_t rank, std::uint64_t offset,
                                             const Piece& piece) const;

  // At which offset of a rank's log that begins, moved on to the start of a line.
  [[nodiscard]] std::uint64_t begin(std::int32_t rank, const LogStart& start) const;

  // Until when what comes after `offset` was written, piece by piece, at most `count` of them.
  // Beyond the last note of the agent it is when the log was written to last. Empty where nothing
  // is known of the log.
  [[nodiscard]] std::vector<LogTime> times(std::int32_t rank, std::uint64_t offset,
                                           std::size_t count) const;

 private:
  [[nodiscard]] std::filesystem::path path_of(std::int32_t rank) const;

  std::filesystem::path folder_;
  LogKind kind_;
};

}  // namespace paceline
