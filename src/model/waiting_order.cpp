#include "model/waiting_order.hpp"

#include "model/job.hpp"

namespace paceline {

OrderKey order_key(const Order& order, const Job& job) {
  return {-job.spec->priority, order.measure(job, order.parameters),
          order.then ? order.then(job) : 0, job.submitted_at, job.id};
}

void WaitingOrder::put(const Job& job) {
  const Place place{order_key(order_, job), order_.need(job)};
  const auto known = places_.find(job.id);
  if (known != places_.end()) {
    if (known->second.key == place.key && known->second.need == place.need) return;
    drop(job.id);
  }
  by_need_[place.need].insert(place.key);
  places_.emplace(job.id, place);
}

void WaitingOrder::drop(JobId job) {
  const auto known = places_.find(job);
  if (known == places_.end()) return;
  const auto bucket = by_need_.find(known->second.need);
  bucket->second.erase(known->second.key);
  if (bucket->second.empty()) by_need_.erase(bucket);
  places_.erase(known);
}

std::optional<OrderKey> WaitingOrder::first(std::int64_t slots) const {
  std::optional<OrderKey> found;
  for (const auto& [need, keys] : by_need_) {
    if (need > slots) break;
    if (!found || *keys.begin() < *found) found = *keys.begin();
  }
  return found;
}

std::optional<OrderKey> WaitingOrder::next(const OrderKey& after, std::int64_t slots) const {
  std::optional<OrderKey> found;
  for (const auto& [need, keys] : by_need_) {
    if (need > slots) break;
    const auto key = keys.upper_bound(after);
    if (key != keys.end() && (!found || *key < *found)) found = *key;
  }
  return found;
}

}  // namespace paceline
