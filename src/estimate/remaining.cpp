#include "estimate/remaining.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimate/scaling.hpp"

namespace paceline {
namespace {

constexpr double kBelievedRatio = 0.05;
constexpr double kUnknownFactor = 10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<double> believed_ratio(const Job& job) {
  if (!job.progress) return std::nullopt;
  const auto ratio = job.progress->ratio(job.spec->expected_samples);
  const bool enough = ratio && *ratio > 0;
  if (!enough || (*ratio < kBelievedRatio && job.spec->expected_duration)) return std::nullopt;
  return ratio;
}

double speed_at(const Job& job, std::int32_t workers) {
  const auto& speeds = job.spec->expected_speeds;
  return speeds.empty() ? workers : speed_in(speeds, workers);
}

// What a second of running now counts for, at the size that was submitted.
double relative_speed(const Job& job) {
  if (job.state != JobState::running) return 0;
  return speed_at(job, job.current->size()) / speed_at(job, job.spec->workers.want);
}

// What a second at the size that was submitted takes at the one that is wanted now.
double at_wanted(const Job& job) {
  return speed_at(job, job.spec->workers.want) / speed_at(job, job.range.want);
}

double run_of(const Job& job, const std::vector<RanAt>& parts) {
  double seconds = 0;
  for (const RanAt& part : parts) seconds += to_seconds(part.span) * speed_at(job, part.workers);
  return seconds / speed_at(job, job.spec->workers.want);
}

// Nothing: only an older program heard it.
std::optional<double> run_when_told(const Job& job) {
  if (job.told_at.empty()) return std::nullopt;
  return run_of(job, job.told_at);
}

// Seconds left at the wanted size when it told last how far it is, by its rate. Nothing where its running says it
// as well. REQUIRES: its length is known from progress.
std::optional<double> left_by_rate(const Job& job) {
  if (!measured_on_several(job) || job.told_at.empty()) return std::nullopt;
  const auto work = job.progress->work();
  if (!work) return std::nullopt;
  return *work * (1 / *believed_ratio(job) - 1) / *Scaling(job).rate(job.range.want);
}

// How far off a length from this source may be, as parts of what is left.
struct Margin {
  double low, high;
};

Margin margin_of(LengthSource source) {
  switch (source) {
    case LengthSource::progress:
      return {0.1, 0.15};
    case LengthSource::declared:
      return {0.3, 0.5};
    default:
      return {0.5, 1.0};
  }
}

}  // namespace

std::string_view to_string(LengthSource source) {
  switch (source) {
    case LengthSource::unknown:
      return "unknown";
    case LengthSource::name:
      return "name";
    case LengthSource::declared:
      return "declared";
    case LengthSource::progress:
      break;
  }
  return "progress";
}

double pace_now(const std::vector<Node>& nodes, const Job& job) {
  return job.current ? pace(nodes, job, job.current->size()) : 1;
}

double length_run(const Job& job, Time now) {
  const double before = run_of(job, job.ran_at);
  return now > job.changed_at ? before + to_seconds(now - job.changed_at) * relative_speed(job)
                              : before;
}

Duration length_to_declare(const Job& job, Time now, double left) {
  return from_seconds(length_run(job, now) + left / at_wanted(job));
}

LengthSource length_source(const Job& job) {
  if (believed_ratio(job) && !(job.ran_at.empty() && job.told_at.empty()))
    return LengthSource::progress;
  if (job.spec->expected_duration) return LengthSource::declared;
  return job.usual_length ? LengthSource::name : LengthSource::unknown;
}

double length_left(const Job& job, Time now, double pace) {
  const double run = length_run(job, now);
  switch (length_source(job)) {
    case LengthSource::progress: {
      const double told = run_when_told(job).value_or(run);
      const auto by_rate = left_by_rate(job);
      const double since = (run - told) * at_wanted(job);
      if (by_rate) return std::max(0.0, *by_rate - (since > 0 ? since * pace : since));
      return std::max(0.0, told / *believed_ratio(job) - run) * at_wanted(job);
    }
    case LengthSource::declared:
      return std::max(0.0, to_seconds(*job.spec->expected_duration) - run) * at_wanted(job);
    case LengthSource::name:
      return std::max(0.0, to_seconds(*job.usual_length) - run) * at_wanted(job);
    case LengthSource::unknown:
      break;
  }
  return kInfinity;
}

LengthLeft length_left_within(const Job& job, Time now, double usual, double pace) {
  const LengthSource source = length_source(job);
  const double run = length_run(job, now) * at_wanted(job);
  if (source == LengthSource::unknown)
    return {usual, usual / kUnknownFactor, std::max(usual, run) * kUnknownFactor};
  const double left = length_left(job, now, pace);
  const double doubtful = source == LengthSource::progress ? left : run + left;
  const auto [low, high] = margin_of(source);
  return {left, std::max(0.0, left - low * doubtful), left + high * doubtful};
}

double length_slope(const Job& job) {
  switch (length_source(job)) {
    case LengthSource::unknown:
      return 0;
    case LengthSource::progress:
      if (!run_when_told(job))
        return relative_speed(job) * at_wanted(job) * (1 / *believed_ratio(job) - 1);
      [[fallthrough]];
    default:
      return -relative_speed(job) * at_wanted(job);
  }
}

std::optional<Prediction> remaining(const std::vector<Node>& nodes, const Job& job, Time now,
                                    std::int32_t workers) {
  const double left = length_left(job, now, pace_now(nodes, job));
  if (std::isinf(left) || workers <= 0) return std::nullopt;
  const Scaling scaling(job);
  const double seconds = left / (scaling.speed(workers) * pace(nodes, job, workers));
  const auto [low, high] = margin_of(length_source(job));
  const double doubt = scaling.uncertainty(workers);
  return Prediction{from_seconds(seconds), from_seconds(seconds * std::max(0.0, 1 - low - doubt)),
                    from_seconds(seconds * (1 + high + doubt))};
}

std::optional<Duration> remaining(const std::vector<Node>& nodes, const Job& job, Time now) {
  const auto workers = job.planned_workers();
  const auto found = remaining(nodes, job, now, workers > 0 ? workers : job.range.want);
  if (!found) return std::nullopt;
  return found->likely;
}

}  // namespace paceline
