// How long to wait before the next try: twice as long with each that fails, up to a longest. Chance
// spreads it by half both ways, so that what was cut off at one moment doesn't come back at one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/rng.hpp"

namespace paceline {

struct BackoffTimes {
  std::chrono::milliseconds first{200};
  std::chrono::milliseconds longest{30'000};
};

class Backoff {
 public:
  Backoff(BackoffTimes times, std::uint64_t seed) : times_(times), next_(times.first), rng_(seed) {}

  std::chrono::milliseconds next() {
    const auto wait = std::min(next_, times_.longest);
    next_ = 2 * wait;
    return spread(wait);
  }
  // For what time alone seldom mends.
  std::chrono::milliseconds longest() { return spread(next_ = times_.longest); }
  void reset() { next_ = times_.first; }

 private:
  std::chrono::milliseconds spread(std::chrono::milliseconds wait) {
    return std::chrono::milliseconds{rng_.between(wait.count() / 2, wait.count() * 3 / 2)};
  }

  BackoffTimes times_;
  std::chrono::milliseconds next_;
  Rng rng_;
};

}  // namespace paceline
