// A job's log as it comes, in lines for a pager: each with its rank, without what moves a cursor or
// colours, a line that is written over and over (`\r`) in its newest state.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/top/news.hpp"
#include "cli/top/pager.hpp"

namespace paceline {

class LogText {
 public:
  // `names_ranks`: "[2] " before each line.
  explicit LogText(bool names_ranks) : names_ranks_(names_ranks) {}

  void told(const LogNews& news);
  // True if it was a key that scrolls.
  bool press(const Key& key) { return pager_.press(key); }
  // One more than the highest rank that wrote.
  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  // Whether it is known what was written.
  [[nodiscard]] bool begun() const { return told_; }
  [[nodiscard]] const Pager& pager() const { return pager_; }
  [[nodiscard]] Rows draw(const Paper& paper) { return pager_.draw(paper); }

 private:
  [[nodiscard]] std::string line_of(std::int64_t rank, std::string_view text) const;

  bool names_ranks_;
  std::map<std::int64_t, std::string> begun_;  // of each rank the line without its end yet
  std::int64_t ranks_ = 0;
  bool told_ = false;
  Pager pager_{Pager::Opens::at_end};
};

// A line of a log as it is shown: the newest state of it, tabs as spaces, no control characters.
std::string shown_line(std::string_view line);

}  // namespace paceline
