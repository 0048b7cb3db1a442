#include "policy/running_line.hpp"

#include <algorithm>

#include "base/sort_again.hpp"

namespace paceline {

double counted_now(const Order& order, const RunningTable::Row& row, Time now) {
  return order.counted(std::max(0.0, row.measure(now)));
}

RunningLine::RunningLine(const Snapshot& snapshot, const Order& order,
                         std::span<const OrderKey> apart)
    : rows_(snapshot.state.running_by(order).rows()), apart_(apart) {
  const auto before = [this](const Rank& a, const Rank& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.measure != b.measure) return a.measure < b.measure;
    if (a.then != b.then) return a.then < b.then;
    return key(a) < key(b);
  };
  auto& sequence = snapshot.state.running_by(order).sequence();
  ranks_.reserve(rows_.size() + apart.size());
  for (const std::uint32_t index : sequence) {
    const Row& row = rows_[index];
    ranks_.push_back({row.key.first, counted_now(order, row, snapshot.now), row.key.then, index});
  }
  sort_again(ranks_.begin(), ranks_.end(), before);
  std::transform(ranks_.begin(), ranks_.end(), sequence.begin(),
                 [](const Rank& rank) { return rank.index; });
  for (std::size_t i = 0; i < apart.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(rows_.size() + i);
    const Rank rank{apart[i].first, apart[i].measure, apart[i].then, index};
    ranks_.insert(std::upper_bound(ranks_.begin(), ranks_.end(), rank, before), rank);
  }
}

}  // namespace paceline
