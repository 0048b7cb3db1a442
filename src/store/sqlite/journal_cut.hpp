// Moves the oldest entries of the journal from its table into segments, a small piece at a time: reads
// and compresses, writes the segment durably, and only then deletes its rows, each of which must be
// in it byte for byte. A crash leaves rows that are in a segment as well, which the next piece
// deletes, or nothing.
//
//   JournalCut cut(journal, segments);
//   while (cut.step(bounds, checkpointed, commit) == true) …
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.hpp"
#include "store/sqlite/journal_table.hpp"
#include "store/sqlite/segment_dir.hpp"

namespace paceline {

class JournalCut {
 public:
  // Runs work in a transaction.
  using Commit = std::function<Result<void>(const std::function<void()>& work)>;

  // REQUIRES: both outlive it.
  JournalCut(JournalTable& journal, SegmentDir& segments)
      : journal_(journal), segments_(segments) {}

  static constexpr std::uint64_t kEntriesMax = 10'000;  // of a segment
  static constexpr std::uint64_t kTextMax = 8 << 20;    // bytes; the entry that goes beyond ends it
  static constexpr std::size_t kAtOnce = 250;           // entries

  // One piece, where more than `keep` entries are in the table. Of those up to `needless`. True:
  // there is more to do now. Errors: storage; data: an entry or a segment is damaged.
  Result<bool> step(std::uint64_t keep, std::uint64_t needless, const Commit& commit);

 private:
  Result<bool> delete_rows(const Segment& segment, std::uint64_t first, const Commit& commit);
  Result<bool> add_rows(std::uint64_t last);

  JournalTable& journal_;
  SegmentDir& segments_;
  std::optional<SegmentWriter> writer_;
  std::uint64_t next_ = 0, last_ = 0;  // entries, of what it writes
};

}  // namespace paceline
