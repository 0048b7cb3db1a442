// A text that is longer than the screen: a job's page, a log, the help. Lines are wrapped, none is
// cut. At its end it follows what is added.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "cli/top/key.hpp"
#include "cli/top/paper.hpp"

namespace paceline {

class Pager {
 public:
  enum class Opens { at_begin, at_end };
  explicit Pager(Opens opens) : follows_(opens == Opens::at_end) {}

  // Instead of all lines; what shows stays where it is.
  void set(Rows lines);
  // Behind the last line. The oldest go where there are more than ten thousand.
  void add(std::string line);
  // Lines behind all others that the next call replaces.
  void set_unfinished(Rows lines);

  // True if it was a key that scrolls.
  bool press(const Key& key);
  [[nodiscard]] bool follows() const { return follows_; }

  // At most the paper's lines.
  Rows draw(const Paper& paper);
  // "40%", "end", after draw(); "" where all shows.
  [[nodiscard]] std::string position() const;

 private:
  void wrap(std::size_t width);

  std::deque<std::string> lines_;
  std::deque<Rows> wrapped_;  // each line for `width_`
  Rows unfinished_;
  std::size_t width_ = 0;
  std::size_t first_ = 0, height_ = 0, rows_ = 0;  // of the rows, as drawn last
  bool follows_;
};

}  // namespace paceline
