#include "estimate/interference.hpp"

#include <algorithm>

#include "estimate/learning.hpp"

namespace paceline {
namespace {

// What was not heard of for longest.
template <class Table>
auto oldest(const Table& table) {
  return std::min_element(table.begin(), table.end(),
                          [](const auto& a, const auto& b) { return a.second.seq < b.second.seq; });
}

double slower_part(const Mean& mean) {
  return mean.count < kSlowDownSamples ? 0.0 : std::max(0.0, mean.value - 1);
}

void add_pair(Interference& learned, const std::string& a, const std::string& b,
              std::uint64_t seq) {
  auto& pairs = learned.pairs;
  if (pairs.size() + 2 > kPairsMax) {
    const auto [first, second] = oldest(pairs)->first;
    pairs.erase({first, second});
    pairs.erase({second, first});
  }
  pairs[{a, b}].seq = pairs[{b, a}].seq = seq;
}

}  // namespace

void learn_alone(Interference& learned, const Shape& shape, double step_seconds,
                 std::uint64_t seq) {
  auto& alone = learned.alone;
  if (!alone.contains(shape) && alone.size() >= kShapesMax) alone.erase(oldest(alone));
  learn(alone[shape], step_seconds, seq);
}

void learn_beside(Interference& learned, const Shape& shape, const std::string& neighbour,
                  double step_seconds, std::uint64_t seq) {
  const auto undisturbed = learned.alone.find(shape);
  if (undisturbed == learned.alone.end()) return;
  auto& pairs = learned.pairs;
  if (!pairs.contains({shape.name, neighbour})) add_pair(learned, shape.name, neighbour, seq);
  pairs[{neighbour, shape.name}].seq = seq;
  learn(pairs[{shape.name, neighbour}], step_seconds / undisturbed->second.value, seq);
}

double slow_down(const Interference& learned, const std::string& a, const std::string& b) {
  const auto of_a = learned.pairs.find({a, b});
  if (of_a == learned.pairs.end()) return 0;
  return std::max(slower_part(of_a->second), slower_part(learned.pairs.at({b, a})));
}

bool knows(const Interference& learned, const std::string& name) {
  const auto first = learned.pairs.lower_bound({name, {}});
  return first != learned.pairs.end() && first->first.first == name;
}

}  // namespace paceline
