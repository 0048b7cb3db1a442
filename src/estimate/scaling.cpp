#include "estimate/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paceline {
namespace {

constexpr double kReportsMax = 10;  // more of them at one size count no further
constexpr double kUncertaintyOfPrior = 0.3;
constexpr double kUncertaintyOfFit = 0.1;

double amdahl(std::int32_t workers) { return workers / (1 + kSerialPart * (workers - 1)); }

}  // namespace

double speed_in(const Points<std::int32_t>& speeds, std::int32_t workers) {
  const auto& [first, speed] = speeds.front();
  if (workers < first) return static_cast<double>(workers) / first * speed;
  return value_at(speeds, workers);
}

Scaling::Scaling(const Job& job, std::string_view device) : want_(job.range.want) {
  if (!job.spec->expected_speeds.empty()) expects_ = job.spec;
  if (job.speeds.empty()) return;
  gather(job, device);
  if (expects_)
    keep_shape();
  else
    fit();
  at_want_ = estimate(want_);
}

void Scaling::gather(const Job& job, std::string_view device) {
  for (const SpeedPoint& point : job.speeds) {
    if (!device.empty() && point.device != device) continue;
    const double weight = std::min<double>(point.reports, kReportsMax);
    if (sizes_.empty() || sizes_.back().workers != point.workers)
      sizes_.push_back({point.workers, 0, 0, 0});
    Size& size = sizes_.back();
    size.weight += weight;
    size.rate += weight / size.weight * (point.rate - size.rate);
    size.deviation = std::max(size.deviation, std::sqrt(point.variance));
  }
}

// Weighed least squares of 1/rate on 1/workers, both coefficients held at 0 or above.
void Scaling::fit() {
  if (sizes_.size() < 2) return;
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Size& size : sizes_) {
    const double share = 1.0 / size.workers, seconds = 1.0 / size.rate;
    w += size.weight;
    x += size.weight * share;
    y += size.weight * seconds;
    xx += size.weight * share * share;
    xy += size.weight * share * seconds;
  }
  const double spread = w * xx - x * x;
  seconds_shared_ = spread > 0 ? std::max(0.0, (w * xy - x * y) / spread) : 0;
  seconds_fixed_ = (y - seconds_shared_ * x) / w;
  if (seconds_fixed_ >= 0) return;
  seconds_fixed_ = 0;
  seconds_shared_ = xy / xx;
}

// The mean of what the measured sizes say of the prior's unit.
void Scaling::keep_shape() {
  double weight = 0;
  for (const Size& size : sizes_) {
    weight += size.weight;
    rate_of_prior_ += size.weight / weight * (size.rate / prior(size.workers) - rate_of_prior_);
  }
}

double Scaling::prior(std::int32_t workers) const {
  if (expects_)
    return speed_in(expects_->expected_speeds, workers) /
           speed_in(expects_->expected_speeds, want_);
  if (workers <= want_) return static_cast<double>(workers) / want_;
  return amdahl(workers) / amdahl(want_);
}

const Scaling::Size* Scaling::find(std::int32_t workers) const {
  const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), workers,
                                   [](const Size& s, std::int32_t n) { return s.workers < n; });
  return at != sizes_.end() && at->workers == workers ? &*at : nullptr;
}

double Scaling::estimate(std::int32_t workers) const {
  if (sizes_.empty()) return prior(workers);
  if (const Size* size = find(workers)) return size->rate;
  if (sizes_.size() == 1) return sizes_[0].rate * prior(workers) / prior(sizes_[0].workers);
  if (expects_) return rate_of_prior_ * prior(workers);
  return 1 / (seconds_fixed_ + seconds_shared_ / workers);
}

double Scaling::speed(std::int32_t workers) const {
  return workers <= 0 ? 0 : estimate(workers) / at_want_;
}

std::optional<double> Scaling::rate(std::int32_t workers) const {
  if (!measured()) return std::nullopt;
  return workers <= 0 ? 0 : estimate(workers);
}

double Scaling::uncertainty(std::int32_t workers) const {
  const Size* size = find(workers);
  if (size) return size->deviation / size->rate;
  if (workers == want_ && sizes_.empty()) return 0;
  return sizes_.size() >= 2 || expects_ ? kUncertaintyOfFit : kUncertaintyOfPrior;
}

}  // namespace paceline
