#include "estimate/scaling.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "model/state.hpp"

namespace paceline {
namespace {

constexpr double kReportsMax = 10;  // more of them at one size count no further
constexpr double kUncertaintyOfPrior = 0.3;
constexpr double kUncertaintyOfFit = 0.1;

double amdahl(std::int32_t workers) { return workers / (1 + kSerialPart * (workers - 1)); }

double weight_of(const SpeedPoint& point) { return std::min<double>(point.reports, kReportsMax); }

struct WeighedMean {
  double value = 0, weight = 0;

  void add(double one, double its_weight) {
    weight += its_weight;
    if (weight > 0) value += its_weight / weight * (one - value);
  }
};

// The device of which most was reported first.
std::vector<std::string_view> measured_devices(const std::vector<SpeedPoint>& points) {
  std::vector<std::pair<double, std::string_view>> found;
  for (const SpeedPoint& point : points) {
    const auto known = std::find_if(found.begin(), found.end(),
                                    [&](const auto& one) { return one.second == point.device; });
    if (known == found.end())
      found.emplace_back(-weight_of(point), point.device);
    else
      known->first -= weight_of(point);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string_view> devices;
  for (const auto& [weight, device] : found) devices.push_back(device);
  return devices;
}

}  // namespace

double speed_in(const Points<std::int32_t>& speeds, std::int32_t workers) {
  const auto& [first, speed] = speeds.front();
  if (workers < first) return static_cast<double>(workers) / first * speed;
  return value_at(speeds, workers);
}

std::string devices_of(const std::vector<Node>& nodes, const Gang& gang) {
  std::set<std::string_view> models;
  for (const Worker& worker : gang.workers) {
    const Node& node = nodes.at(worker.seat.node.value);
    for (const auto slot : worker.seat.slots) models.insert(node.slot_spec(slot).model);
  }
  std::string devices;
  for (const auto model : models) devices.append(devices.empty() ? "" : "+").append(model);
  return devices;
}

bool measured_on_several(const Job& job) {
  return std::ranges::any_of(
      job.speeds, [&](const SpeedPoint& point) { return point.device != job.speeds[0].device; });
}

double pace(const std::vector<Node>& nodes, const Job& job, std::int32_t workers) {
  if (!job.current || !measured_on_several(job)) return 1;
  const std::string here = devices_of(nodes, *job.current);
  const Scaling scaling(job);
  WeighedMean of_size, of_all;
  for (const SpeedPoint& point : job.speeds) {
    if (point.device != here) continue;
    const double ratio = point.rate / *scaling.rate(point.workers);
    of_all.add(ratio, weight_of(point));
    if (point.workers == workers) of_size.add(ratio, weight_of(point));
  }
  if (of_all.weight == 0) return 1;
  return of_size.weight > 0 ? of_size.value : of_all.value;
}

Scaling::Scaling(const Job& job) : want_(job.range.want) {
  if (!job.spec->expected_speeds.empty()) expects_ = job.spec;
  if (job.speeds.empty()) return;
  for (const std::string_view device : measured_devices(job.speeds)) add(job, device);
  at_want_ = estimate(want_);
}

void Scaling::add(const Job& job, std::string_view device) {
  const auto known = speed_of(job, device);
  if (!known) return;
  for (const SpeedPoint& point : job.speeds) {
    if (point.device != device) continue;
    Size& size = size_of(point.workers);
    const double weight = weight_of(point), rate = point.rate / known->speed;
    size.weight += weight;
    size.rate += weight / size.weight * (rate - size.rate);
    size.deviation =
        std::max({size.deviation, std::sqrt(point.variance) / known->speed, known->doubt * rate});
  }
  if (expects_)
    keep_shape();
  else
    fit();
}

std::optional<Scaling::DeviceSpeed> Scaling::speed_of(const Job& job,
                                                      std::string_view device) const {
  if (sizes_.empty()) return DeviceSpeed{1, 0};
  WeighedMean shared, all;
  std::int32_t sizes = 0, last = 0;
  for (const SpeedPoint& point : job.speeds) {
    if (point.device != device) continue;
    const double speed = point.rate / estimate(point.workers);
    all.add(speed, weight_of(point));
    if (find(point.workers)) shared.add(speed, weight_of(point));
    sizes += std::exchange(last, point.workers) != point.workers ? 1 : 0;
  }
  if (shared.weight > 0) return DeviceSpeed{shared.value, 0};
  if (sizes < 2) return std::nullopt;
  return DeviceSpeed{all.value, kUncertaintyOfPrior};
}

Scaling::Size& Scaling::size_of(std::int32_t workers) {
  const auto at = std::lower_bound(sizes_.begin(), sizes_.end(), workers,
                                   [](const Size& s, std::int32_t n) { return s.workers < n; });
  if (at != sizes_.end() && at->workers == workers) return *at;
  return *sizes_.insert(at, {workers, 0, 0, 0});
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
  WeighedMean mean;
  for (const Size& size : sizes_) mean.add(size.rate / prior(size.workers), size.weight);
  rate_of_prior_ = mean.value;
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
