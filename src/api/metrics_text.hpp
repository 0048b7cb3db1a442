// Metrics as text: OpenMetrics 1.0, or Prometheus' format before it for those that don't ask for that.
//
//   MetricsText text(MetricsFormat::open_metrics);
//   text.gauge("paceline_jobs", "Jobs that are not over.");
//   text.sample({{"state", "RUNNING"}}, 3);
//   text.counter("paceline_plans", "Plans that were made.");     // its sample: paceline_plans_total
//   text.sample({}, 12);
//   text.take()
//
// Names are in base units, which stand at their end ("_seconds", "_bytes").
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "api/histogram.hpp"

namespace paceline {

enum class MetricsFormat { open_metrics, prometheus };

// By a request's header Accept.
MetricsFormat metrics_format(std::string_view accept);
std::string_view content_type(MetricsFormat format);

class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit MetricsText(MetricsFormat format) : format_(format) {}

  // Each begins a family; its samples follow at once.
  void gauge(std::string_view name, std::string_view help);
  // REQUIRES: `name` doesn't end in "_total".
  void counter(std::string_view name, std::string_view help);
  template <std::size_t N>
  void histogram(std::string_view name, std::string_view help, const Histogram<N>& values) {
    begin(name, "histogram", help);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < N; ++i) {
      below += values.count(i);
      bucket(values.bounds().at(i), below);
    }
    finish_histogram(below + values.count(N), values.sum());
  }

  // Label values may be any text.
  void sample(Labels labels, double value);

  std::string take();

 private:
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void bucket(double bound, std::uint64_t below);
  void finish_histogram(std::uint64_t count, double sum);
  void write(std::string_view ending, Labels labels, double value);

  MetricsFormat format_;
  std::string name_, ending_;
  std::string text_;
};

}  // namespace paceline
