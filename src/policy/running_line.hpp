// The running jobs in the order of a round, and among them the waiting jobs that have keys of their
// own, apart from the order of the others that wait.
//
//   const RunningLine line(snapshot, order, {});
//   for (const RunningLine::Rank& rank : line.ranks()) … line.row(rank) …
//
// Cost: O(running) where little has changed since the same order was last asked for, else O(running
// · log running).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/running_table.hpp"
#include "plan/draft.hpp"

namespace paceline {

// What counts now of the measure of a running job.
double counted_now(const Order& order, const RunningTable::Row& row, Time now);

class RunningLine {
 public:
  using Row = RunningTable::Row;
  // What most keys differ in, and whose it is: rows are large.
  struct Rank {
    double first, measure, then;
    std::uint32_t index;  // of a row; behind those of one that stands apart
  };

  // Keeps references to the rows and to what is `apart`.
  RunningLine(const Snapshot& snapshot, const Order& order, std::span<const OrderKey> apart);

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }  // in no order
  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  // nullptr: it stands apart.
  [[nodiscard]] const Row* row(const Rank& rank) const {
    return rank.index < rows_.size() ? &rows_[rank.index] : nullptr;
  }
  [[nodiscard]] OrderKey key(const Rank& rank) const {
    const Row* of = row(rank);
    const OrderKey& rest = of ? of->key : apart_[rank.index - rows_.size()];
    return {rank.first, rank.measure, rank.then, rest.submitted_at, rest.job};
  }
  // Does the key of another job come first? Looks at rows only where little else tells.
  [[nodiscard]] bool comes_before(const OrderKey& key, const Rank& rank) const {
    if (key.first != rank.first) return key.first < rank.first;
    if (key.measure != rank.measure) return key.measure < rank.measure;
    if (key.then != rank.then) return key.then < rank.then;
    return key < this->key(rank);
  }

 private:
  const std::vector<Row>& rows_;
  std::span<const OrderKey> apart_;
  std::vector<Rank> ranks_;
};

}  // namespace paceline
