// One seeded generator per run (xoshiro256**, seeded by splitmix64): the same seed gives the same
// numbers with every compiler and library, which std distributions do not promise.
//
//   Rng rng(42);
//   auto die = rng.below(6) + 1;
#pragma once

#include <array>
#include <cstdint>

namespace paceline {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t next();
  // Uniform in [0, bound). REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [low, high]. REQUIRES: low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  // Uniform in [0, 1).
  double uniform();
  // True with probability p.
  bool chance(double p);

 private:
  std::array<std::uint64_t, 4> s_{};
};

}  // namespace paceline
