// The last lines of each worker's log, whatever their length: the server counts a log in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/client/api.hpp"

namespace paceline {

struct LogTailQuery {
  std::uint32_t job = 0;
  std::optional<std::int64_t> rank;  // nothing: all
  std::size_t lines = 0;
  std::optional<WallTime> since = {};  // none that were written before
  bool times = false;                  // of each line, exact to some tenths of a second
};

// "&since=1763661600", to the second; "" without.
std::string since_query(const std::optional<WallTime>& since);

struct LogLine {
  std::string text;               // with its end; the last one may lack it
  std::optional<double> at = {};  // when it was there at the latest: seconds since 1970
};

class LogTail {
 public:
  // What comes next of the log; keeps its last `lines` lines, the one without an end included.
  void add(const Document& chunk, std::size_t lines);

  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::deque<LogLine>& lines() const { return lines_; }
  // Whether what was read holds so many lines, or all there is.
  [[nodiscard]] bool enough(std::size_t lines) const;

  std::int64_t next = 0;  // where the log goes on, in bytes

 private:
  std::deque<LogLine> lines_;
  std::size_t begun_ = 0;  // lines; the first may be the end of a longer one
  std::optional<std::int64_t> first_;
};

// By rank. A log is read from its end, from further back again while that holds too few lines; what
// is kept is never more than those lines. Errors: what the server says.
Result<std::map<std::int64_t, LogTail>> read_log_tail(Api& api, const LogTailQuery& query);

// The lines of all, each with its rank, in the order in which they were written as far as that is
// known; else rank by rank.
std::vector<std::pair<std::int64_t, LogLine>> in_order(
    const std::map<std::int64_t, LogTail>& tails);

}  // namespace paceline
