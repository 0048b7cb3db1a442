// The last lines of each worker's log, whatever their length: the server counts a log in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "cli/client/api.hpp"

namespace paceline {

struct LogTailQuery {
  std::uint32_t job = 0;
  std::optional<std::int64_t> rank;  // nothing: all
  std::size_t lines = 0;
};

class LogTail {
 public:
  // What comes next of the log; keeps its last `lines` lines, the one without an end included.
  void add(const Document& chunk, std::size_t lines);

  [[nodiscard]] std::string text() const;
  // Whether what was read holds so many lines, or all there is.
  [[nodiscard]] bool enough(std::size_t lines) const;

  std::int64_t next = 0;  // where the log goes on, in bytes

 private:
  std::deque<std::string> lines_;  // each with its end; the last one may lack it
  std::optional<std::int64_t> first_;
};

// By rank. A log is read from its end, from further back again while that holds too few lines; what
// is kept is never more than those lines. Errors: what the server says.
Result<std::map<std::int64_t, LogTail>> read_log_tail(Api& api, const LogTailQuery& query);

}  // namespace paceline
