#include "model/waiting_order.hpp"

#include <algorithm>

#include "model/job.hpp"

namespace paceline {

OrderKey order_key(const Order& order, const Job& job) {
  return {order.first ? order.first(job) : -job.spec->priority,
          order.counted(order.measure(job, order.parameters)), order.then ? order.then(job) : 0,
          job.submitted_at, job.id};
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

WaitingOrder::Walk WaitingOrder::walk() const { return Walk(by_need_); }

WaitingOrder::Walk WaitingOrder::walk_after(const OrderKey& place) const {
  Walk walk(by_need_);
  walk.after_ = place;
  return walk;
}

void WaitingOrder::Walk::begin(std::int64_t slots) {
  begun_ = true;
  for (const auto& [need, keys] : *by_need_) {
    if (need > slots) break;
    const auto at = after_ ? keys.upper_bound(*after_) : keys.begin();
    if (at != keys.end()) fronts_.push_back({at, keys.end(), need});
  }
  std::make_heap(fronts_.begin(), fronts_.end(), comes_later);
}

const OrderKey* WaitingOrder::Walk::next(std::int64_t slots) {
  if (!begun_) begin(slots);
  while (!fronts_.empty()) {
    std::pop_heap(fronts_.begin(), fronts_.end(), comes_later);
    Front& front = fronts_.back();
    if (front.need > slots) {
      fronts_.pop_back();
      continue;
    }
    const OrderKey* key = &*front.at;
    if (++front.at == front.end)
      fronts_.pop_back();
    else
      std::push_heap(fronts_.begin(), fronts_.end(), comes_later);
    return key;
  }
  return nullptr;
}

}  // namespace paceline
