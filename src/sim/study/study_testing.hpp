// For tests of studies: a clock that stands still, and what comes out on so many threads.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "clock/clock.hpp"
#include "sim/study/study.hpp"

namespace paceline::sim {

class StillClock final : public Clock {
 public:
  Time now() override { return {}; }
};

// Of each run of the plan, in its order. Throws where the study fails.
inline std::vector<std::uint64_t> digests_on(unsigned threads, StudyPlan plan) {
  const PolicyRegistry registry;
  StillClock clock;
  plan.threads = threads;
  std::vector<std::uint64_t> digests;
  const Study study = run_study(plan, registry, clock, {}).value();
  for (const StudyRun& run : study.runs) digests.push_back(run.outcome.digest);
  return digests;
}

}  // namespace paceline::sim
