// Numbers the reports of one worker, whatever way they come: lines of its log, posts, checkpoint
// files. The number of a line is the offset behind it times kLineNumbers; any other report gets the
// next number after the last one. So numbers grow in the order of observation, and a line that is
// read again after a restart gets its number again (unless a script posts kLineNumbers reports per
// byte that it prints: then numbers still grow).
//
// The claim keeps how far lines are stored for good, so that an agent which starts anew reads all
// others again: at once with every report that is no line, whose number must never be given twice,
// and else every second.
#pragma once

#include <cstdint>
#include <deque>

#include "agent/linux/claim.hpp"
#include "base/time.hpp"

namespace paceline::agent {

inline constexpr std::uint64_t kLineNumbers = 1 << 18;

class ReportLedger {
 public:
  // Goes on where the claim says, or from `log_offset`. REQUIRES: the claim outlives the ledger.
  ReportLedger(const ClaimFile& claim, std::uint64_t log_offset);

  // Where reading the log goes on.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // The line that ends before `offset` was read.
  void read_to(std::uint64_t offset) { offset_ = offset; }
  // It holds a report. Answers the report's number.
  std::uint64_t report_line(std::uint64_t offset);
  // A report that is no line.
  std::uint64_t other();
  // The same for a checkpoint file, whose time is remembered with it.
  std::uint64_t checkpoint(std::int64_t modified_ns);
  [[nodiscard]] std::int64_t checkpoint_ns() const { return checkpoint_ns_; }

  // All reports up to this number are stored for good. Answers how many of them were not before.
  std::size_t stored(std::uint64_t number);
  // All lines before this offset are read, and their reports stored.
  [[nodiscard]] std::uint64_t stored_to() const;
  // Reports that are not.
  [[nodiscard]] std::size_t unstored() const { return unstored_.size(); }
  // Remembers on disk what is stored. Call now and then.
  void remember(Time now);

  // Beyond this offset no line is read: its number could not be told.
  static constexpr std::uint64_t kOffsetMax = (std::uint64_t{1} << 62) / kLineNumbers;

 private:
  struct Unstored {
    std::uint64_t number;
    std::uint64_t before;  // offset behind the line before
  };
  void write();

  const ClaimFile& claim_;
  std::uint64_t offset_ = 0;
  std::uint64_t other_ = 0;     // number of the last report that was no line
  std::uint64_t other_at_ = 0;  // offset at that time
  std::int64_t checkpoint_ns_ = 0;
  std::deque<Unstored> unstored_;
  std::uint64_t written_ = 0;
  Time write_next_;
};

}  // namespace paceline::agent
