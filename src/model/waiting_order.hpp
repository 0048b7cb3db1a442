// Waiting jobs in one order, asked for the first that needs at most so many slots: a rule that
// starts all that fit looks at no job that can't.
//
//   const auto& order = state.waiting_by({length, least_slots});
//   auto walk = order.walk();
//   while (const OrderKey* key = walk.next(free)) …     // free may shrink
//
// Cost: O(log jobs) a change; O(distinct needs · log jobs) a walk's beginning, O(log needs) a step.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"

namespace paceline {

struct Job;

// A job's place in an order, which a rule gives: the smaller `first` comes first, then the smaller
// `measure`, then the smaller `then`; after these the job that came first, then the smaller id.
struct OrderKey {
  double first = 0;  // never NaN, as the others; infinity comes last
  double measure = 0;
  double then = 0;
  Time submitted_at;
  JobId job;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
  // The same, without regard to NaN: orders compare keys all the time.
  friend bool operator<(const OrderKey& a, const OrderKey& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.measure != b.measure) return a.measure < b.measure;
    if (a.then != b.then) return a.then < b.then;
    if (a.submitted_at != b.submitted_at) return a.submitted_at < b.submitted_at;
    return a.job < b.job;
  }
};

// What an order goes by. All answer from the job alone; while it waits untouched nothing changes,
// while it runs the measure changes by its slope.
//
//   Order{length, least_slots}                            larger priority, then less left to run
//   Order{.measure = length, .need = least_slots, .first = lateness}    priority counts for nothing
struct Order {
  using Parameters = std::array<double, 2>;
  double (*measure)(const Job& job, const Parameters& parameters) = nullptr;
  std::int64_t (*need)(const Job& job) = nullptr;  // slots
  double (*then)(const Job& job) = nullptr;        // none: 0
  Parameters parameters{};
  double (*slope)(const Job& job) = nullptr;  // per second of running; none: 0
  // What counts of the measure, say the queue that it falls into; none: itself.
  double (*counts)(double measure, const Parameters& parameters) = nullptr;
  // What comes before the measure; none: the larger priority comes first.
  double (*first)(const Job& job) = nullptr;

  [[nodiscard]] double counted(double value) const {
    return counts ? counts(value, parameters) : value;
  }
  friend bool operator==(const Order&, const Order&) = default;
};

OrderKey order_key(const Order& order, const Job& job);

class WaitingOrder {
 public:
  explicit WaitingOrder(const Order& order) : order_(order) {}

  [[nodiscard]] const Order& order() const { return order_; }
  [[nodiscard]] std::size_t size() const { return places_.size(); }

  // Takes the job in, or puts it where it belongs now.
  void put(const Job& job);
  void drop(JobId job);

  class Walk;
  // Of all; of those after a place. Ends with the next change of the order.
  [[nodiscard]] Walk walk() const;
  [[nodiscard]] Walk walk_after(const OrderKey& place) const;

 private:
  struct Place {
    OrderKey key;
    std::int64_t need;
  };
  using ByNeed = std::map<std::int64_t, std::set<OrderKey>>;

  Order order_;
  ByNeed by_need_;
  std::unordered_map<JobId, Place> places_;
};

class WaitingOrder::Walk {
 public:
  // The next one that needs at most `slots`, which never grow; nullptr: none is left.
  const OrderKey* next(std::int64_t slots);

 private:
  friend class WaitingOrder;
  explicit Walk(const ByNeed& by_need) : by_need_(&by_need) {}

  struct Front {
    std::set<OrderKey>::const_iterator at, end;
    std::int64_t need;
  };
  static bool comes_later(const Front& a, const Front& b) { return *b.at < *a.at; }
  void begin(std::int64_t slots);

  const ByNeed* by_need_;
  std::optional<OrderKey> after_;
  bool begun_ = false;
  std::vector<Front> fronts_;  // of each need: a heap, the next one on top
};

}  // namespace paceline
