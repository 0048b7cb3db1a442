#include "model/interference.hpp"

#include <algorithm>

namespace paceline {
namespace {

// What was not heard of for longest.
template <class Table>
auto oldest(const Table& table) {
  return std::min_element(table.begin(), table.end(),
                          [](const auto& a, const auto& b) { return a.second.seq < b.second.seq; });
}

double part(const Mean& mean) {
  return mean.count < kSlowDownSamples ? 0.0 : std::max(0.0, mean.value - 1);
}

}  // namespace

void Mean::add(double sample, std::uint64_t at) {
  ++count;
  value += (sample - value) * std::max(kWeight, 1.0 / count);
  seq = at;
}

void Interference::ran_alone(const Shape& shape, double step_seconds, std::uint64_t seq) {
  if (!alone.contains(shape) && alone.size() >= kShapesMax) alone.erase(oldest(alone));
  alone[shape].add(step_seconds, seq);
}

void Interference::ran_beside(const Shape& shape, const std::string& neighbour, double step_seconds,
                              std::uint64_t seq) {
  const auto undisturbed = alone.find(shape);
  if (undisturbed == alone.end()) return;
  if (!pairs.contains({shape.name, neighbour})) add_pair(shape.name, neighbour, seq);
  pairs[{neighbour, shape.name}].seq = seq;
  pairs[{shape.name, neighbour}].add(step_seconds / undisturbed->second.value, seq);
}

void Interference::add_pair(const std::string& a, const std::string& b, std::uint64_t seq) {
  if (pairs.size() + 2 > kPairsMax) {
    const auto [first, second] = oldest(pairs)->first;
    pairs.erase({first, second});
    pairs.erase({second, first});
  }
  pairs[{a, b}].seq = pairs[{b, a}].seq = seq;
}

double Interference::slow_down(const std::string& a, const std::string& b) const {
  const auto of_a = pairs.find({a, b});
  if (of_a == pairs.end()) return 0;
  return std::max(part(of_a->second), part(pairs.at({b, a})));
}

bool Interference::knows(const std::string& name) const {
  const auto first = pairs.lower_bound({name, {}});
  return first != pairs.end() && first->first.first == name;
}

}  // namespace paceline
