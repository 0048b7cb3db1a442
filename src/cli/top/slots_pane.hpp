// The slots of all nodes: one row for neighbours that are alike and a job's, in the order of its ranks,
// or nobody's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/cluster.hpp"
#include "cli/top/filter.hpp"
#include "cli/top/list.hpp"

namespace paceline {

class SlotsPane {
 public:
  // After something was told or filtered. With a filter only slots of the jobs that it wants.
  void keep_cursor(const Cluster& cluster, const Filter& filter);
  // True if it was a key that moves the cursor.
  bool press(const Key& key) { return list_.press(key); }
  // The job in the slot under the cursor.
  [[nodiscard]] std::optional<std::int64_t> selected() const;

  // Lines that show everything.
  [[nodiscard]] std::size_t height() const { return slots_.size() + 2; }
  // At most the paper's lines; the first says how many there are.
  Rows draw(const Paper& paper, const Cluster& cluster);

 private:
  struct Slots {
    std::string node, device, state, note;
    std::int64_t job = 0;
    std::int64_t first = 0, last = 0;            // of the node's slots
    std::int64_t first_rank = 0, last_rank = 0;  // of the job's
  };

  void add(Slots slot);
  [[nodiscard]] std::vector<Cell> cells(std::size_t row, const Cluster& cluster) const;
  [[nodiscard]] std::string title(const Cluster& cluster) const;

  List list_;
  std::vector<Slots> slots_;
};

}  // namespace paceline
