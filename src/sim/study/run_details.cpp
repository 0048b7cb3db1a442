#include "sim/study/run_details.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace paceline::sim {
namespace {

struct Times {
  std::vector<double> jct, wait;  // seconds
};

// The most slots of the class that a job of so many belongs to.
std::int32_t most_of_class(std::int32_t slots) {
  std::int32_t most = 1;
  while (most < slots) most = most == 1 ? 4 : most * 2;
  return most;
}

std::int32_t least_of_class(std::int32_t most) {
  if (most == 1) return 1;
  return most == 4 ? 2 : most / 2 + 1;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Cdf cdf_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Cdf cdf;
  const std::size_t points = std::min(values.size(), kCdfPointsMax);
  for (std::size_t i = 1; i <= points; ++i) {
    const std::size_t count = i * values.size() / points;
    cdf.push_back(
        {values[count - 1], static_cast<double>(count) / static_cast<double>(values.size())});
  }
  return cdf;
}

RunDetails details_of(const Outcome& outcome, const Window& window) {
  Times all;
  std::map<std::int32_t, Times> by_size;
  for (const JobOutcome* job : counted_jobs(outcome, window)) {
    Times& same = by_size[most_of_class(job->slots)];
    for (Times* times : {&all, &same}) {
      times->jct.push_back(to_seconds(*job->ended - job->submitted));
      times->wait.push_back(to_seconds(job->waited));
    }
  }
  RunDetails details;
  details.submitted = outcome.jobs.size();
  for (auto& [most, times] : by_size) {
    std::sort(times.jct.begin(), times.jct.end());
    details.sizes.push_back({least_of_class(most), most, times.jct.size(), mean_of(times.jct),
                             percentile(times.jct, 0.5), percentile(times.jct, 0.99),
                             mean_of(times.wait)});
  }
  details.jct = cdf_of(std::move(all.jct));
  details.wait = cdf_of(std::move(all.wait));
  return details;
}

}  // namespace paceline::sim
