// Waiting jobs in one order, asked for the first that needs at most so many slots: a rule that
// starts whatever fits looks at nobody who can't.
//
//   const auto& order = state.waiting_by({length, least_slots});
//   for (auto at = order.first(free); at; at = order.next(*at, free)) …     // free may shrink
//
// Cost: O(log jobs) a change; O(distinct needs · log jobs) a question.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/time.hpp"
#include "model/ids.hpp"

namespace paceline {

struct Job;

// Larger priority first, then the smaller measures, then who came first, then the smaller id.
struct OrderKey {
  std::int32_t negative_priority = 0;
  double measure = 0;  // never NaN; infinity comes last
  double then = 0;
  Time submitted_at;
  JobId job;
  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

// What an order goes by. All answer from the job alone and don't change while it waits untouched.
struct Order {
  using Parameters = std::array<double, 2>;
  double (*measure)(const Job& job, const Parameters& parameters) = nullptr;
  std::int64_t (*need)(const Job& job) = nullptr;  // slots
  double (*then)(const Job& job) = nullptr;        // none: 0
  Parameters parameters{};
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

  // The first that needs at most `slots`, of all or of those after `after`.
  [[nodiscard]] std::optional<OrderKey> first(std::int64_t slots) const;
  [[nodiscard]] std::optional<OrderKey> next(const OrderKey& after, std::int64_t slots) const;

 private:
  struct Place {
    OrderKey key;
    std::int64_t need;
  };

  Order order_;
  std::map<std::int64_t, std::set<OrderKey>> by_need_;
  std::unordered_map<JobId, Place> places_;
};

}  // namespace paceline
