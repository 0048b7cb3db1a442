// More of a run than its measures: how times are distributed, and what became of jobs of each size.
// Bounded, so that a study of many large runs can keep it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/study/measures.hpp"

namespace paceline::sim {

inline constexpr std::size_t kCdfPointsMax = 1'000;

struct CdfPoint {
  double seconds = 0;
  double part = 0;  // of the jobs that took at most so long
};
using Cdf = std::vector<CdfPoint>;  // both rise, the last part is 1; empty of nothing

// Of all values where they are few, else of some, evenly by part.
Cdf cdf_of(std::vector<double> values);

// Jobs by the slots that they asked for: 1, 2-4, 5-8, 9-16, and so on by doubling.
struct SizeClass {
  std::int32_t least = 1, most = 1;
  std::size_t jobs = 0;
  double average_jct = 0, median_jct = 0, p99_jct = 0, average_wait = 0;  // seconds
};

struct RunDetails {
  std::size_t submitted = 0;  // jobs, whatever became of them
  Cdf jct, wait;
  std::vector<SizeClass> sizes;  // that have jobs, from small to large
};

// Of the jobs that count for averages (measures.hpp).
RunDetails details_of(const Outcome& outcome, const Window& window);

}  // namespace paceline::sim
