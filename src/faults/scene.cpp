#include "faults/scene.hpp"

#include <array>

namespace paceline::faults {

using namespace std::chrono_literals;

Duration Scene::up_to(Duration most) { return Duration{rng.between(0, most.count())}; }

Duration Scene::draw_clock_error() {
  static constexpr std::array<Duration, 4> kMost = {10 * 24h, 10 * 24h, 6h, 1min};
  const Duration most = kMost[rng.below(kMost.size())];
  return (up_to(2 * most) - most) / clock_errors_by;
}

}  // namespace paceline::faults
