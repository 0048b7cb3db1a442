// A job's timeline as the text of a trace that Perfetto opens (Trace Event Format, the object
// form): a process for each worker's process, in it a thread for the training and one for what goes
// on beside it, all on the gang's clock. It is made piece by piece, so that a trace may be of any
// size.
//
//   TraceText trace({.job = 7});
//   print(trace.add(0, piece)); …            // in any order of processes, each one's in its own
//   print(trace.end());
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "wire/timeline.hpp"

namespace paceline {

struct TraceOptions {
  std::uint32_t job = 0;
  bool all_ranks = true;  // are added
  // What ended before, in microseconds since 1970, is left out.
  std::int64_t since_us = std::numeric_limits<std::int64_t>::min();
};

class TraceText {
 public:
  explicit TraceText(const TraceOptions& options) : options_(options) {}

  // `number`: that of the process's log.
  std::string add(std::int32_t number, TimelinePiece piece);
  // What goes on still, what is known of the clocks, and who holds up the others. REQUIRES: called
  // once.
  std::string end();

  // Of the newest generation, by what its ranks told last: who waited long for whom; empty: nobody
  // did, or not all ranks are there.
  [[nodiscard]] std::string stalled() const;
  // Since 1970, of all pieces; 0: there are none.
  [[nodiscard]] std::int64_t newest_us() const { return newest_us_; }
  [[nodiscard]] bool empty() const { return processes_.empty(); }

 private:
  // Number, attempt, generation that it was born in, pid.
  using ProcessName = std::tuple<std::int32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Process {
    std::size_t id = 0;
    std::int32_t number = 0;
    TimelinePiece last;  // without its spans
  };

  Process& process_of(std::int32_t number, TimelinePiece piece, std::string& out);
  void name(const Process& process, std::string& out);
  void note_clock(const Process& process);
  enum class Track { training = 1, beside = 2 };
  void write(const Process& process, const TimelineSpan& span, Track track, std::string& out);
  void write_open(const Process& process, std::string& out);
  void append(std::string_view event, std::string& out);
  [[nodiscard]] std::vector<const Process*> newest_generation() const;

  TraceOptions options_;
  std::int64_t newest_us_ = 0;
  bool begun_ = false;
  std::map<ProcessName, Process> processes_;
  std::set<std::pair<std::size_t, std::uint32_t>> clocks_known_;  // of a process, in a generation
  std::string clocks_;
};

}  // namespace paceline
