#include "sim/truth/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>

namespace paceline::sim {
namespace {

// `t` of the way from a to b.
double between(double a, double b, double t) { return t == 0 ? a : a + (b - a) * t; }

StepTime between(StepTime a, StepTime b, double t) {
  return {between(a.seconds, b.seconds, t), between(a.sync_seconds, b.sync_seconds, t)};
}

// The measured neighbours of a key, and how far it is on the way from one to the other; beyond the
// ends the end twice.
template <class Map>
struct Neighbours {
  typename Map::const_iterator below, above;
  double way = 0;
};

template <class Map>
Neighbours<Map> neighbours(const Map& map, double key) {
  const auto above = std::find_if(map.begin(), map.end(), [key](const auto& entry) {
    return static_cast<double>(entry.first) >= key;
  });
  if (above == map.end()) return {std::prev(above), std::prev(above), 0};
  const auto at = static_cast<double>(above->first);
  if (above == map.begin() || at == key) return {above, above, 0};
  const auto below = std::prev(above);
  const auto from = static_cast<double>(below->first);
  return {below, above, (key - from) / (at - from)};
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

StepTime time_at(const StepTimes& times, std::int64_t local_batch) {
  const std::int64_t passes = divide_up(local_batch, times.rbegin()->first);
  const auto [below, above, way] =
      neighbours(times, static_cast<double>(divide_up(local_batch, passes)));
  StepTime time = between(below->second, above->second, way);
  time.seconds += static_cast<double>(passes - 1) * (time.seconds - time.sync_seconds);
  return time;
}

StepTime time_at(const std::map<std::int32_t, StepTimes>& by_replicas, double replicas,
                 std::int64_t local_batch) {
  const auto [below, above, way] = neighbours(by_replicas, replicas);
  return between(time_at(below->second, local_batch), time_at(above->second, local_batch), way);
}

// The measured neighbours of a scale, between them and between their numbers of replicas.
StepTime time_at(const Profile& profile, GangScale scale, std::int64_t local_batch) {
  const auto [below, above, way] = neighbours(profile.scales, scale.nodes);
  const double per_node = static_cast<double>(scale.replicas) / scale.nodes;
  const auto on = [&](const auto& entry) {
    const double replicas = entry.first == scale.nodes ? scale.replicas : per_node * entry.first;
    return time_at(entry.second, replicas, local_batch);
  };
  return between(on(*below), on(*above), way);
}

// Where, and for what local batch, a step is taken.
struct StepAt {
  GangScale scale;
  std::int64_t local_batch = 1;
  friend bool operator==(const StepAt&, const StepAt&) = default;
};

// The nearest that lies within everything that was measured of the scales.
StepAt nearest_measured(const Profile& profile, const StepAt& wanted) {
  const auto& scales = profile.scales;
  const std::int32_t nodes =
      std::clamp(wanted.scale.nodes, scales.begin()->first, scales.rbegin()->first);
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  double most = 1;  // replicas on each node
  for (const auto& [measured, by_replicas] : scales) {
    most = std::max(most, static_cast<double>(by_replicas.rbegin()->first) / measured);
    for (const auto& [replicas, times] : by_replicas)
      smallest = std::min(smallest, times.begin()->first);
  }
  const double per_node =
      std::min(most, static_cast<double>(wanted.scale.replicas) / wanted.scale.nodes);
  return {{nodes, static_cast<std::int32_t>(std::lround(per_node * nodes))},
          std::max(smallest, wanted.local_batch)};
}

// The time at `near`, taken on to where nothing was measured.
StepTime beyond(const Profile& profile, StepTime time, const StepAt& near, const StepAt& wanted) {
  if (!profile.fit || near == wanted) return time;
  const auto fitted = [&](const StepAt& at) {
    return profile.fit->seconds(at.scale, static_cast<double>(at.local_batch));
  };
  const double ratio = fitted(wanted) / fitted(near);
  return {time.seconds * ratio, time.sync_seconds * ratio};
}

GangScale scale_of(std::span<const std::int32_t> gang) {
  return {static_cast<std::int32_t>(gang.size()), std::accumulate(gang.begin(), gang.end(), 0)};
}

// The point whose gradient is that of a job with this progress: the first beyond it, or the last.
const ValidationPoint& point_at(const std::vector<ValidationPoint>& points, double progress) {
  return *std::upper_bound(
      points.begin(), std::prev(points.end()), progress,
      [](double at, const ValidationPoint& point) { return at < point.progress; });
}

double gain(const Profile& profile, std::int64_t batch, double progress) {
  return efficiency(profile, batch, progress) * static_cast<double>(batch) /
         static_cast<double>(reference_batch(profile));
}

bool is_sound(const StepTimes& times) {
  return !times.empty() && std::all_of(times.begin(), times.end(), [](const auto& entry) {
    const auto& [batch, time] = entry;
    return batch > 0 && std::isfinite(time.seconds) && time.seconds > 0 && time.sync_seconds >= 0 &&
           time.sync_seconds <= time.seconds;
  });
}

bool is_sound(const std::vector<ValidationPoint>& points) {
  double progress = 0;
  for (const ValidationPoint& point : points) {
    if (!(point.progress > progress) || !std::isfinite(point.progress)) return false;
    if (!(point.grad_sqr >= 0 && point.grad_var >= 0)) return false;
    if (!std::isfinite(point.grad_sqr + point.grad_var)) return false;
    progress = point.progress;
  }
  return !points.empty();
}

bool is_sound(const Profile& profile) {
  for (const auto& [gang, times] : profile.placements)
    if (gang.empty() || gang.front() < 1 || !is_sound(times)) return false;
  for (const auto& [nodes, by_replicas] : profile.scales) {
    if (nodes < 1 || by_replicas.empty()) return false;
    for (const auto& [replicas, times] : by_replicas)
      if (replicas < nodes || !is_sound(times)) return false;
  }
  return std::all_of(profile.validations.begin(), profile.validations.end(),
                     [](const auto& entry) { return entry.first > 0 && is_sound(entry.second); });
}

}  // namespace

Result<void> check_profile(const Profile& profile) {
  const auto wrong = [&profile](std::string_view what) {
    return fail(ErrorCode::data, fmt::format("The profile of '{}' {}.", profile.application, what));
  };
  if (profile.scales.empty()) return wrong("has no step times");
  if (profile.validations.empty()) return wrong("has no validation");
  if (!is_sound(profile)) return wrong("has numbers out of their range");
  return {};
}

std::vector<StepPoint> step_points(const Profile& profile) {
  std::vector<StepPoint> points;
  for (const auto& [nodes, by_replicas] : profile.scales)
    for (const auto& [replicas, times] : by_replicas)
      for (const auto& [local_batch, time] : times)
        points.push_back({{nodes, replicas}, static_cast<double>(local_batch), time.seconds});
  return points;
}

std::vector<std::int32_t> packed(std::int32_t replicas, std::int32_t slots_per_node) {
  std::vector<std::int32_t> gang(static_cast<std::size_t>(replicas / slots_per_node),
                                 slots_per_node);
  if (replicas % slots_per_node != 0) gang.push_back(replicas % slots_per_node);
  return gang;
}

StepTime step_time(const Profile& profile, std::span<const std::int32_t> gang,
                   std::int64_t local_batch) {
  std::vector<std::int32_t> rising(gang.begin(), gang.end());
  std::sort(rising.begin(), rising.end());
  const auto measured = profile.placements.find(rising);
  if (measured == profile.placements.end()) return step_time(profile, scale_of(gang), local_batch);
  const StepAt wanted{scale_of(gang), local_batch};
  const StepAt near{wanted.scale, std::max(measured->second.begin()->first, local_batch)};
  return beyond(profile, time_at(measured->second, local_batch), near, wanted);
}

StepTime step_time(const Profile& profile, GangScale scale, std::int64_t local_batch) {
  const StepAt wanted{scale, local_batch};
  const StepAt near = profile.fit ? nearest_measured(profile, wanted) : wanted;
  return beyond(profile, time_at(profile, near.scale, near.local_batch), near, wanted);
}

std::int64_t reference_batch(const Profile& profile) { return profile.validations.begin()->first; }

std::int64_t bounded_batch(const Profile& profile, std::int64_t batch) {
  return std::clamp(batch, reference_batch(profile), profile.validations.rbegin()->first);
}

std::set<double> gradient_changes(const Profile& profile, std::int64_t batch) {
  const auto [below, above, way] = neighbours(profile.validations, static_cast<double>(batch));
  const double end = last_progress(profile);
  std::set<double> all{end};
  for (const auto* points : {&below->second, &above->second})
    for (const ValidationPoint& point : *points)
      if (point.progress < end) all.insert(point.progress);
  return all;
}

double efficiency(const Profile& profile, std::int64_t batch, double progress) {
  const auto [below, above, way] = neighbours(profile.validations, static_cast<double>(batch));
  const ValidationPoint& a = point_at(below->second, progress);
  const ValidationPoint& b = point_at(above->second, progress);
  const double sqr = between(a.grad_sqr, b.grad_sqr, way);
  const double var = between(a.grad_var, b.grad_var, way);
  const double scale = static_cast<double>(batch) / static_cast<double>(reference_batch(profile));
  const double with_scale = var + sqr * scale;
  return with_scale > 0 ? std::min(1.0, (var + sqr) / with_scale) : 1.0;
}

double samples_per_second(const Profile& profile, std::span<const std::int32_t> gang,
                          std::int64_t batch) {
  const std::int64_t local_batch = divide_up(batch, scale_of(gang).replicas);
  return static_cast<double>(batch) / step_time(profile, gang, local_batch).seconds;
}

double progress_per_second(const Profile& profile, std::span<const std::int32_t> gang,
                           std::int64_t batch, double progress) {
  return samples_per_second(profile, gang, batch) * efficiency(profile, batch, progress) /
         static_cast<double>(reference_batch(profile));
}

double last_progress(const Profile& profile) {
  double last = profile.validations.begin()->second.back().progress;
  for (const auto& [batch, points] : profile.validations)
    last = std::min(last, points.back().progress);
  return last;
}

Duration training_time(const Profile& profile, std::span<const std::int32_t> gang,
                       std::int64_t batch) {
  double steps = 0, progress = 0;
  for (const double stage : gradient_changes(profile, batch)) {
    steps += (stage - progress) / gain(profile, batch, progress);
    progress = stage;
  }
  const double seconds =
      steps * static_cast<double>(batch) / samples_per_second(profile, gang, batch);
  return from_seconds(std::min(seconds, static_cast<double>(kTrainingSecondsMax)));
}

Result<void> set_durations(Trace& trace, std::string_view file, const Profiles& profiles,
                           std::int32_t slots_per_node) {
  if (trace.has_durations) return {};
  std::vector<std::string_view> known;
  for (const auto& [application, profile] : profiles) known.push_back(application);
  for (TraceJob& job : trace.jobs) {
    const auto refused = [&](std::string_view why) {
      return fail(
          ErrorCode::invalid,
          fmt::format("'{}', line {}: the length of job '{}' is unknown: it trains '{}', {}.", file,
                      job.line, job.name, job.application, why),
          fmt::format("Profiles: {}.", fmt::join(known, ", ")));
    };
    const auto at = profiles.find(job.application);
    if (at == profiles.end()) return refused("of which there is no profile");
    if (job.batch_size == 0) return refused("with no batch");
    job.duration = training_time(at->second, packed(job.slots, slots_per_node),
                                 bounded_batch(at->second, job.batch_size));
  }
  trace.has_durations = true;
  return {};
}

}  // namespace paceline::sim
