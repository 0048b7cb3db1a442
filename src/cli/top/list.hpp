// A list that is longer than its part of the screen: which row keys act on, and which rows show. And
// its table, whose columns don't jump as it is scrolled.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cli/top/key.hpp"
#include "cli/top/paper.hpp"
#include "cli/words/table.hpp"

namespace paceline {

class List {
 public:
  // So many rows; the cursor stays within them.
  void set_count(std::size_t count);
  void set_cursor(std::size_t row) { cursor_ = row; }
  [[nodiscard]] std::size_t cursor() const { return cursor_; }
  // True if it was a key that moves the cursor.
  bool press(const Key& key);

  // The rows that show, after draw().
  [[nodiscard]] std::size_t first() const { return first_; }
  [[nodiscard]] std::size_t shown() const { return shown_; }
  // "12-20" where not all rows show, else "".
  [[nodiscard]] std::string position() const;

  // Forgets how wide columns were.
  void measure_anew() { usual_.clear(); }
  // Titles and the rows that fit, the cursor's among them and marked where the paper has the focus.
  // REQUIRES: `cells` has one cell per column, for each row below the count.
  Rows draw(const Paper& paper, std::vector<Column> columns,
            const std::function<std::vector<Cell>(std::size_t row)>& cells);

 private:
  void scroll_to(std::size_t height);

  std::size_t count_ = 0, cursor_ = 0, first_ = 0, shown_ = 0;
  std::vector<std::size_t> usual_;  // widths so far
  std::size_t columns_ = 0;         // of the paper that they are for
};

}  // namespace paceline
