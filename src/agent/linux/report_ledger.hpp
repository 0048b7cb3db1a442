// Numbers the reports of one worker, whatever way they come: lines of its log, posts, checkpoint
// files. The number of a line is the offset behind it plus the count of reports that came another
// way before it; any other report raises that count by one. So numbers grow in the order of
// observation, and a line that is read again after a restart gets its number again.
//
// The position is kept in the claim: at once with every report that is no line (the
// lines before it are settled then), and for lines some seconds late, so that those which a dying
// server may not have stored are read again.
#pragma once

#include <cstdint>
#include <deque>

#include "agent/linux/claim.hpp"
#include "base/time.hpp"

namespace paceline::agent {

class ReportLedger {
 public:
  // Goes on where the claim says, or from `log_offset`. REQUIRES: the claim outlives the ledger.
  ReportLedger(const ClaimFile& claim, std::uint64_t log_offset);

  // Where reading the log goes on.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  // The log was read up to `offset`, which ends a line. Answers the number of a report in that
  // line.
  std::uint64_t read_to(std::uint64_t offset);
  // A report that is no line.
  std::uint64_t other();
  // The same for a checkpoint file, whose time is remembered with it.
  std::uint64_t checkpoint(std::int64_t modified_ns);
  [[nodiscard]] std::int64_t checkpoint_ns() const { return checkpoint_ns_; }
  // Remembers on disk what is older than some seconds. Call now and then.
  void settle(Time now);

 private:
  struct Mark {
    Time at;
    std::uint64_t offset;
  };
  void store(std::uint64_t offset);

  const ClaimFile& claim_;
  std::uint64_t offset_ = 0;
  std::uint64_t stored_ = 0;
  std::uint64_t others_ = 0;
  std::int64_t checkpoint_ns_ = 0;
  std::deque<Mark> unsettled_;
};

}  // namespace paceline::agent
