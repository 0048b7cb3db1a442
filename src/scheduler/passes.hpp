// The jobs that passed a waiting one: they stand behind it in line and began to run while it
// waited.
#pragma once

#include <cstddef>
#include <vector>

#include "model/state.hpp"

namespace paceline {

inline constexpr std::size_t kPassesNamed = 5;
inline constexpr std::size_t kPassesLookedAt = 100'000;  // the newest jobs

struct Passes {
  std::size_t count = 0;
  std::vector<JobId> last;  // the newest of them, in the order of their ids
};

// Counted when somebody asks, over the newest jobs. REQUIRES: the job waits.
Passes passes_of(const State& state, const Job& job);

}  // namespace paceline
