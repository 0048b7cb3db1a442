#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/rng.hpp"
#include "estimate/scaling.hpp"
#include "support/world.hpp"

namespace paceline {
namespace {

using testing::World;
using Given = std::map<JobId, std::int32_t>;

// The rule of the header word for word, one slot after the other over all jobs; `jobs` from the
// shortest to the longest.
Given by_the_rule(const std::vector<const Job*>& jobs, std::int64_t slots) {
  Given has;
  const auto speed = [&](const Job* job, int more) {
    return Scaling(*job).speed(has[job->id] + more);
  };
  for (; slots > 0; --slots) {
    const Job* best = nullptr;
    for (const Job* b : jobs) {
      if (has[b->id] >= b->range.max) continue;
      const Job* a = std::exchange(best, best ? best : b);
      if (!a || has[a->id] == 0) continue;
      const double as_longer = (speed(b, 1) - speed(b, 0)) / speed(b, 1);
      const double as_shorter = (speed(a, 1) - speed(a, 0)) / speed(a, 0);
      if (as_longer > as_shorter) best = b;
    }
    if (!best) break;
    ++has[best->id];
  }
  std::erase_if(has, [](const auto& size) { return size.second == 0; });
  return has;
}

void compare_with_the_rule(std::uint64_t seed) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  const auto slots = rng.between(2, 12);
  World world(fmt::format("1x{} cpu", slots), "afs");
  std::vector<const Job*> jobs;
  for (int length = 10; length <= 50; length += 10) {
    const auto max = rng.between(1, 8), want = rng.between(1, max);
    jobs.push_back(&world.job(world.submit(fmt::format("1..{}@{} expect={}s", max, want, length))));
  }
  Given got;
  for (const Change& change : world.round().changes)
    got[change.job] = static_cast<std::int32_t>(change.placement.size());
  EXPECT_EQ(got, by_the_rule(jobs, slots));
}

TEST(Afs, EqualsTheRuleTakenWordForWord) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) compare_with_the_rule(seed);
}

}  // namespace
}  // namespace paceline
