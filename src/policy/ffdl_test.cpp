#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "estimate/scaling.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;

double speedup(const Job& job, std::int32_t workers) {
  const Scaling scaling(job);
  return scaling.speed(workers) / scaling.speed(1);
}

// The largest sum over every choice of sizes; each job has at least its smallest.
double best_sum(const std::vector<const Job*>& jobs, std::size_t at, std::int64_t slots) {
  if (at == jobs.size()) return 0;
  std::int64_t later = 0;
  for (std::size_t i = at + 1; i < jobs.size(); ++i) later += jobs[i]->slots(jobs[i]->range.min);
  double best = 0;
  for (auto n = jobs[at]->range.min; n <= jobs[at]->range.max; ++n) {
    if (jobs[at]->slots(n) + later > slots) break;
    best =
        std::max(best, speedup(*jobs[at], n) + best_sum(jobs, at + 1, slots - jobs[at]->slots(n)));
  }
  return best;
}

void compare_with_brute_force(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  const auto slots = rng.between(3, 12);
  World world(fmt::format("1x{} cpu", slots), "ffdl");
  std::vector<const Job*> fitting;
  std::int64_t left = slots;
  for (int i = 0; i < 4; ++i) {
    const auto min = rng.between(1, 3), max = rng.between(min, 8), want = rng.between(min, max);
    const auto id = world.submit(fmt::format("{}..{}@{}", min, max, want));
    if (min > left) continue;
    left -= min;
    fitting.push_back(&world.job(id));
  }
  double sum = 0;
  for (const Change& change : world.round().changes)
    sum += speedup(world.job(change.job), static_cast<std::int32_t>(change.placement.size()));
  EXPECT_NEAR(sum, best_sum(fitting, 0, slots), 1e-9);
}

TEST(Ffdl, EqualsBruteForce) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) compare_with_brute_force(seed);
}

}  // namespace
}  // namespace paceline
