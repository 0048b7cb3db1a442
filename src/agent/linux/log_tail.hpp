// Reads the reports out of a worker's log while it grows. Looks at whole lines of at most
// kReportBytesMax; longer ones are skipped. The log belongs to the worker's owner, who can make it
// as long as a file may be: holes in it are jumped (a hole ends a line), and what is read of it once
// the worker has ended is bounded.
//
//   LogTail tail(path, ledger, handler);
//   while (room() && tail.step() > 0) {}      // again and again while the worker runs
//   tail.end();
//   while (tail.step() > 0) {}                // the last reports
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/linux/report_ledger.hpp"
#include "files/fd.hpp"
#include "wire/report.hpp"

namespace paceline::agent {

class LogTail {
 public:
  using Handler = std::function<void(std::uint64_t number, const Report& report)>;

  static constexpr std::size_t kPieceBytes = 16 << 10;
  static constexpr std::uint64_t kEndBytes = 128 << 20;

  // Reads on from the ledger's offset.
  LogTail(const std::string& path, ReportLedger& ledger, Handler handler,
          std::uint64_t end_bytes = kEndBytes);

  // Reads the next piece, at most kPieceBytes. Answers how many bytes it read; 0: there are no more
  // (yet).
  std::size_t step();
  // Nobody writes any more. What the log holds now is read to its end, where a last line without its
  // newline counts; of more than `end_bytes` the first half of these, and then the last.
  void end();
  // Lines that begin at one of these bytes of the log are left out once it ended; empty: none.
  struct Bytes {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;  // the first that is not among them
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };
  [[nodiscard]] const Bytes& passed_over() const { return passed_over_; }
  // Of the log, now.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  [[nodiscard]] std::size_t next_bytes() const;
  void pass_over();
  bool jump_hole(std::string_view piece);
  void take_lines();
  void take_line(std::string_view line, std::uint64_t end);
  void take_last_line();

  UniqueFd fd_;
  ReportLedger& ledger_;
  Handler handler_;
  std::uint64_t end_bytes_;
  std::uint64_t read_;                // offset behind what is in buffer_
  std::string buffer_;                // the beginning of a line
  bool skipping_ = false;             // in the rest of a line that is too long
  std::optional<std::uint64_t> end_;  // offset where it ends
  std::uint64_t left_ = 0;            // once it ended: bytes until the next jump
  Bytes passed_over_;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace paceline::agent
