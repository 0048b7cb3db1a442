// Jobs that run or are on their way to, one row each of what rules count with, kept as the jobs
// change: a round over all of them reads this and little else.
//
//   for (const RunningTable::Row& row : state.running_by(order).rows()) row.measure(now)
//
// Cost: O(1) a change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.hpp"
#include "model/job_spec.hpp"
#include "model/waiting_order.hpp"

namespace paceline {

class RunningTable {
 public:
  struct Row {
    const Job* job = nullptr;
    OrderKey key;      // as of `as_of`, with the measure itself (not what counts of it)
    double slope = 0;  // of its measure since then, per second
    Time as_of;
    std::int32_t workers = 0;  // it is to have
    std::int32_t slots = 0;    // of those
    WorkerRange range;
    std::int32_t step = 1;  // its sizes are multiples of it
    std::int32_t slots_per_worker = 1;
    bool preemptible = false;
    bool resizable = false;

    [[nodiscard]] double measure(Time now) const {
      return now > as_of ? key.measure + slope * to_seconds(now - as_of) : key.measure;
    }
  };

  // Nothing: the job doesn't run, or its size lies outside its range.
  static std::optional<Row> row_of(const Order& order, const Job& job);

  explicit RunningTable(const Order& order) : order_(order) {}

  [[nodiscard]] const Order& order() const { return order_; }
  // In no order.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  // The rows' indices as the last caller sorted them, with new rows behind. A caller that sorts
  // them every round finds them nearly in order. Tells nothing else of the state.
  [[nodiscard]] std::vector<std::uint32_t>& sequence() const { return sequence_; }

  // Takes the job in, brings its row up to date, or drops it if it doesn't run any more.
  void put(const Job& job);
  void drop(JobId job);

 private:
  Order order_;
  std::vector<Row> rows_;
  mutable std::vector<std::uint32_t> sequence_;
  std::unordered_map<JobId, std::size_t> places_;
};

}  // namespace paceline
