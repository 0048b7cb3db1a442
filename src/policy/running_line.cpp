#include "policy/running_line.hpp"

#include <algorithm>

#include "base/sort_again.hpp"

namespace paceline {

RunningLine::RunningLine(const Snapshot& snapshot, const RunningKeys& keys,
                         const std::vector<OrderKey>& apart)
    : rows_(snapshot.state.running_by(keys.order).rows()), apart_(apart) {
  const auto before = [this](const Rank& a, const Rank& b) {
    if (a.negative_priority != b.negative_priority)
      return a.negative_priority < b.negative_priority;
    if (a.measure != b.measure) return a.measure < b.measure;
    if (a.then != b.then) return a.then < b.then;
    return key(a) < key(b);
  };
  auto& sequence = snapshot.state.running_by(keys.order).sequence();
  ranks_.reserve(rows_.size() + apart.size());
  for (const std::uint32_t index : sequence) {
    const Row& row = rows_[index];
    double measure = std::max(0.0, row.measure(snapshot.now));
    if (keys.counts) measure = keys.counts(measure, keys.parameters);
    ranks_.push_back({row.key.negative_priority, index, measure, row.key.then});
  }
  sort_again(ranks_.begin(), ranks_.end(), before);
  std::transform(ranks_.begin(), ranks_.end(), sequence.begin(),
                 [](const Rank& rank) { return rank.index; });
  for (std::size_t i = 0; i < apart.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(rows_.size() + i);
    const Rank rank{apart[i].negative_priority, index, apart[i].measure, apart[i].then};
    ranks_.insert(std::upper_bound(ranks_.begin(), ranks_.end(), rank, before), rank);
  }
}

}  // namespace paceline
