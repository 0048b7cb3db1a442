// Reads the reports out of a worker's log while it grows. Looks at whole lines of at most
// kReportBytesMax; longer ones are skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "agent/linux/fd.hpp"
#include "agent/linux/report_ledger.hpp"
#include "wire/report.hpp"

namespace paceline::agent {

class LogTail {
 public:
  using Handler = std::function<void(std::uint64_t number, const Report& report)>;

  // Reads on from the ledger's offset.
  LogTail(const std::string& path, ReportLedger& ledger, Handler handler);

  // Reads what has come, at most kStepMax bytes, so that a worker that floods its log can't hold up
  // the others. True if there is more.
  bool step();
  // Reads everything; a last line without its newline counts. REQUIRES: nobody writes to the log
  // any more.
  void drain();

  static constexpr std::size_t kStepMax = 1 << 20;

 private:
  void take_lines();
  void take_line(std::string_view line, std::uint64_t end);

  UniqueFd fd_;
  ReportLedger& ledger_;
  Handler handler_;
  std::uint64_t read_;     // offset behind what is in buffer_
  std::string buffer_;     // the beginning of a line
  bool skipping_ = false;  // in the rest of a line that is too long
};

}  // namespace paceline::agent
