#include "sim/truth/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace paceline::sim {
namespace {

// Every size up to this many slots stands in a table of speed-ups; beyond it one in sixteen.
constexpr std::int64_t kEverySizeUpTo = 256;

std::vector<std::int32_t> sizes_up_to(std::int64_t most) {
  std::vector<std::int32_t> sizes;
  for (std::int64_t n = 1; n < most; n += n < kEverySizeUpTo ? 1 : n / 16)
    sizes.push_back(static_cast<std::int32_t>(n));
  sizes.push_back(static_cast<std::int32_t>(most));
  return sizes;
}

}  // namespace

std::string_view to_string(BatchRule rule) { return rule == BatchRule::fixed ? "fixed" : "scaled"; }

Result<BatchRule> parse_batch_rule(std::string_view text) {
  for (const BatchRule rule : {BatchRule::fixed, BatchRule::scaled})
    if (to_string(rule) == text) return rule;
  return fail(ErrorCode::invalid, fmt::format("'{}' is no rule for batches.", text),
              "Give fixed or scaled.");
}

Training::Training(const Profile& profile, Asked asked, const TrainingOptions& options)
    : profile_(profile),
      asked_{asked.slots, bounded_batch(profile, asked.batch)},
      options_(options),
      wanted_(packed(asked.slots, options.slots_per_node)),
      speedup_(Speedup::linear()) {
  const double alone = time_on(1);
  Points<std::int32_t> points;
  for (const std::int32_t slots : sizes_up_to(options.slots_max))
    points.emplace_back(slots, alone / time_on(slots));
  speedup_ = Speedup::table(std::move(points));
}

std::int64_t Training::batch_at(std::int32_t slots) const {
  if (options_.batch == BatchRule::fixed) return asked_.batch;
  const double scale = static_cast<double>(slots) / asked_.slots;
  return bounded_batch(profile_, std::llround(static_cast<double>(asked_.batch) * scale));
}

std::vector<Stretch> Training::stretches(std::span<const std::int32_t> gang) const {
  const std::int64_t batch = batch_at(std::accumulate(gang.begin(), gang.end(), 0));
  const double wanted = samples_per_second(profile_, wanted_, asked_.batch);
  const double faster = samples_per_second(profile_, gang, batch) / wanted;
  if (batch == asked_.batch) return {{1, faster}};
  std::set<double> ends = gradient_changes(profile_, asked_.batch);
  ends.merge(gradient_changes(profile_, batch));
  std::vector<Stretch> stretches;
  double progress = 0, passed = 0;
  for (const double end : ends) {
    const double usual = efficiency(profile_, asked_.batch, progress);
    passed += (end - progress) / (wanted * usual);
    stretches.push_back({passed, faster * efficiency(profile_, batch, progress) / usual});
    progress = end;
  }
  for (Stretch& stretch : stretches) stretch.until /= passed;
  return stretches;
}

double Training::time_on(std::int32_t slots) const {
  double time = 0, done = 0;
  for (const auto& [until, speed] : stretches(packed(slots, options_.slots_per_node))) {
    time += (until - done) / speed;
    done = until;
  }
  return time;
}

Pace Training::pace(std::span<const std::int32_t> gang, Duration length, double reach) const {
  const auto stretches = this->stretches(gang);
  if (stretches.size() == 1) return Pace(stretches.front().speed);
  std::vector<Pace::Stage> stages;
  for (const auto& [until, speed] : stretches) {
    const double left = until < 1 ? 1 - until / reach : 0;
    stages.push_back({static_cast<double>(length.count()) * left, speed});
  }
  return Pace(std::move(stages));
}

Trainings::Trainings(const Trace& trace, std::shared_ptr<const Profiles> profiles,
                     const TrainingOptions& options)
    : profiles_(std::move(profiles)), batch_(options.batch) {
  of_jobs_.reserve(trace.jobs.size());
  for (const TraceJob& job : trace.jobs) {
    const auto profile = profiles_->find(job.application);
    const bool known = profile != profiles_->end() && job.batch_size > 0;
    const Key key{job.application, job.slots, job.batch_size};
    auto at = trainings_.find(key);
    if (known && at == trainings_.end()) {
      const Training::Asked asked{job.slots, job.batch_size};
      at = trainings_.try_emplace(key, profile->second, asked, options).first;
    }
    of_jobs_.push_back(known ? &at->second : nullptr);
  }
}

std::size_t Trainings::unknown() const {
  return static_cast<std::size_t>(std::count(of_jobs_.begin(), of_jobs_.end(), nullptr));
}

}  // namespace paceline::sim
