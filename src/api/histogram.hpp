// How often values fell into fixed ranges: waits, lengths of steps. Small, and never grows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace paceline {

template <std::size_t N>
class Histogram {
 public:
  // REQUIRES: the bounds rise.
  explicit constexpr Histogram(const std::array<double, N>& bounds) : bounds_(bounds) {}

  // A value equal to a bound lies in the range below it.
  void add(double value) {
    const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    ++counts_.at(static_cast<std::size_t>(at));
    sum_ += value;
  }

  [[nodiscard]] const std::array<double, N>& bounds() const { return bounds_; }
  // In the range that ends at the i-th bound; the last one has no end.
  [[nodiscard]] std::uint64_t count(std::size_t i) const { return counts_.at(i); }
  [[nodiscard]] double sum() const { return sum_; }

 private:
  std::array<double, N> bounds_;
  std::array<std::uint64_t, N + 1> counts_{};
  double sum_ = 0;
};

}  // namespace paceline
