#include "policy/ffdl.hpp"

#include <algorithm>
#include <vector>

#include "estimate/scaling.hpp"
#include "policy/pages.hpp"
#include "policy/parameters.hpp"
#include "policy/shares.hpp"

namespace paceline {
namespace {

// speedup(n): how many times as fast as one worker.
double speedup(const Scaling& scaling, std::int32_t workers) {
  return scaling.speed(workers) / scaling.speed(1);
}

// One job's steps above its smallest size, and what each number of them adds.
struct Steps {
  std::int64_t slots = 1;     // of one step
  std::vector<double> gains;  // gains[n]: of n steps over the smallest size
};

Steps steps_of(const Contender& contender, std::int64_t left) {
  const Scaling scaling(*contender.job);
  Steps steps{contender.slots(contender.step), {0}};
  const double least = speedup(scaling, contender.workers);
  for (std::int32_t n = contender.workers + contender.step; n <= contender.most;
       n += contender.step) {
    if (static_cast<std::int64_t>(steps.gains.size()) * steps.slots > left) break;
    steps.gains.push_back(speedup(scaling, n) - least);
  }
  return steps;
}

// The numbers of steps with the largest sum of gains: best[k] with k slots, job after job.
class Programme {
 public:
  Programme(std::vector<Steps> jobs, std::int64_t slots)
      : jobs_(std::move(jobs)), width_(static_cast<std::size_t>(slots) + 1) {}

  std::vector<std::int32_t> solve() {
    std::vector<double> best(width_, 0), before;
    choice_.assign(jobs_.size() * width_, 0);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      before = best;
      for (std::size_t k = 0; k < width_; ++k) improve(j, k, before, best[k]);
    }
    return trace_back();
  }

 private:
  void improve(std::size_t j, std::size_t k, const std::vector<double>& before, double& best) {
    const auto slots = static_cast<std::size_t>(jobs_[j].slots);
    const auto& gains = jobs_[j].gains;
    for (std::size_t n = 1; n < gains.size() && n * slots <= k; ++n) {
      const double sum = gains[n] + before[k - n * slots];
      if (sum <= best) continue;
      best = sum;
      choice_[j * width_ + k] = static_cast<std::int32_t>(n);
    }
  }

  std::vector<std::int32_t> trace_back() const {
    std::vector<std::int32_t> steps(jobs_.size());
    std::size_t k = width_ - 1;
    for (std::size_t j = jobs_.size(); j-- > 0;) {
      steps[j] = choice_[j * width_ + k];
      k -= static_cast<std::size_t>(steps[j] * jobs_[j].slots);
    }
    return steps;
  }

  std::vector<Steps> jobs_;
  std::size_t width_;
  std::vector<std::int32_t> choice_;
};

void optimise(Shares& shares) {
  std::vector<Contender*> growing;
  std::vector<Steps> steps;
  for (Contender& contender : shares.contenders()) {
    if (contender.workers == 0 || contender.workers >= contender.most) continue;
    growing.push_back(&contender);
    steps.push_back(steps_of(contender, shares.left()));
  }
  const auto chosen = Programme(std::move(steps), shares.left()).solve();
  for (std::size_t i = 0; i < growing.size(); ++i)
    shares.take(*growing[i], growing[i]->workers + chosen[i] * growing[i]->step);
}

}  // namespace

PolicyInfo Ffdl::info() {
  return {.name = "ffdl",
          .summary = "The sizes with the largest sum of speed-ups.",
          .text = policy_page("ffdl"),
          .elastic = true,
          .defaults = {{"limit", "1000000"}},
          .make = make,
          .preempts = true};
}

Result<std::unique_ptr<Policy>> Ffdl::make(const Parameters& parameters) {
  std::int64_t limit = 0;
  if (auto ok = ParameterReader(parameters).whole("limit", limit, 0, 100'000'000).finish(); !ok)
    return fail(ok.error());
  return std::make_unique<Ffdl>(limit);
}

void Ffdl::decide(const Snapshot& snapshot, Draft& draft) const {
  const auto rule = [&](Shares& shares) {
    shares.all_in_order();
    const auto jobs = static_cast<std::int64_t>(shares.contenders().size());
    if (jobs * (shares.left() + 1) <= limit_)
      optimise(shares);
    else
      shares.spread_to_largest(gain_per_slot);
  };
  divide(snapshot, draft, kArrival, rule, {.rest = Rest{kArrival, Sizes::smallest, "older jobs"}});
}

}  // namespace paceline
