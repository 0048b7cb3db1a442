#include "model/progress.hpp"

#include <algorithm>

namespace paceline {
namespace {

template <class T>
void take(std::optional<T>& into, const std::optional<T>& from) {
  if (from) into = from;
}

}  // namespace

std::optional<double> Progress::work() const {
  if (samples) return static_cast<double>(*samples);
  if (step) return static_cast<double>(*step);
  return epoch;
}

std::optional<double> Progress::ratio(std::optional<std::uint64_t> expected_samples) const {
  const auto part = [](double done, double total) { return std::clamp(done / total, 0.0, 1.0); };
  if (samples && expected_samples && *expected_samples > 0) {
    return part(static_cast<double>(*samples), static_cast<double>(*expected_samples));
  }
  if (step && total_steps && *total_steps > 0) {
    return part(static_cast<double>(*step), static_cast<double>(*total_steps));
  }
  if (epoch && total_epochs && *total_epochs > 0) return part(*epoch, *total_epochs);
  return std::nullopt;
}

void merge(Progress& into, const Progress& report) {
  take(into.step, report.step);
  take(into.total_steps, report.total_steps);
  take(into.samples, report.samples);
  take(into.position, report.position);
  take(into.epoch, report.epoch);
  take(into.total_epochs, report.total_epochs);
  take(into.step_seconds, report.step_seconds);
  take(into.learning_rate, report.learning_rate);
  take(into.resume, report.resume);
  for (const auto& [name, value] : report.metrics) {
    const auto known = into.metrics.find(name);
    if (known != into.metrics.end())
      known->second = value;
    else if (into.metrics.size() < kMetricsMax)
      into.metrics.emplace(name, value);
  }
  into.reported_at = std::max(into.reported_at, report.reported_at);
}

}  // namespace paceline
