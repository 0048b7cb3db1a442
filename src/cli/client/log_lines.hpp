// What workers wrote as a person reads it: by whole lines with their rank, a progress bar (`\r`) as
// its newest state, and without the lines that report to the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/words/console.hpp"

namespace paceline {

struct LogShow {
  bool name_ranks = false;  // "[2] " before each line
  bool newest = false;      // of a line that is written over and over its newest state alone
  bool reports = true;      // the lines that are reports (docs/api.md), too
  bool times = false;       // "2025-11-20T18:00:00Z " before each line
};

// Of a text the last lines that a person reads: each in its newest state, reports left out.
std::vector<std::string> last_lines(std::string_view text);

// The rows that are not written to their end yet stand live at the bottom of a terminal, where
// `newest` is asked for.
class LogLines {
 public:
  LogLines(Console& console, LogShow show) : console_(console), show_(show) {}

  // What a rank wrote next; it may end in the middle of a line. `at`: when that was there at the
  // latest, in seconds since 1970; nothing: not known.
  void print(std::int64_t rank, std::string_view text, std::optional<double> at = {});
  // Prints the lines whose ends never came.
  void finish();
  // The last lines of a rank, unless they are among the last that were printed anyway. Empty also
  // without `newest`.
  [[nodiscard]] std::vector<std::string> out_of_sight(std::int64_t rank) const;

 private:
  struct Written {
    std::string begun;  // without its end yet
    std::optional<double> begun_at;
    std::deque<std::string> last;  // the newest lines
    std::size_t at = 0;            // the number of the newest one among all ranks'
  };

  std::string line_of(std::int64_t rank, std::string_view line);
  std::string bar_before_report(std::string_view line) const;
  [[nodiscard]] bool is_hidden(std::string_view line) const;
  void remember(Written& written, std::string_view line);
  [[nodiscard]] std::vector<std::string> rows() const;

  Console& console_;
  LogShow show_;
  std::map<std::int64_t, Written> ranks_;
  std::size_t printed_ = 0;
};

}  // namespace paceline
