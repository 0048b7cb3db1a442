// The jobs of the queue: which, in which order, and how they are drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/cluster.hpp"
#include "cli/top/filter.hpp"
#include "cli/top/list.hpp"

namespace paceline {

class QueuePane {
 public:
  // After something was told or filtered: the cursor stays on its job while that is shown.
  void keep_cursor(const Cluster& cluster, const Filter& filter);

  // True if it was a key that moves the cursor.
  bool press(const Key& key) { return list_.press(key); }
  // True if it was a key that sorts. The cursor is on the first job then, once it was kept in place.
  bool press_sort(const Key& key);

  [[nodiscard]] std::optional<std::int64_t> selected() const;
  void select(std::int64_t id);
  // The jobs that show, after draw().
  [[nodiscard]] std::vector<std::int64_t> seen() const;

  // At most the paper's lines; the first says how many there are and what they are sorted by.
  Rows draw(const Paper& paper, const Cluster& cluster, const Filter& filter);

 private:
  void sort_by_next(int step);
  [[nodiscard]] std::string title(const Cluster& cluster, const Filter& filter) const;
  [[nodiscard]] std::vector<Column> columns() const;

  List list_;
  std::vector<std::int64_t> ids_;  // as they stand
  std::size_t key_ = 0;            // which column they are sorted by, of kSortable
  bool reversed_ = false;
};

}  // namespace paceline
