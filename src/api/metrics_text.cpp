#include "api/metrics_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "base/utf8.hpp"

namespace paceline {
namespace {

std::string_view unit_of(std::string_view name) {
  for (const std::string_view unit : {"seconds", "bytes", "ratio"}) {
    if (name.ends_with(unit)) return unit;
  }
  return {};
}

std::string escaped(std::string_view value) {
  std::string text;
  for (const char c : to_utf8(value)) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

}  // namespace

MetricsFormat metrics_format(std::string_view accept) {
  return accept.find("application/openmetrics-text") == std::string_view::npos
             ? MetricsFormat::prometheus
             : MetricsFormat::open_metrics;
}

std::string_view content_type(MetricsFormat format) {
  return format == MetricsFormat::open_metrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

void MetricsText::gauge(std::string_view name, std::string_view help) {
  begin(name, "gauge", help);
}

// The format before OpenMetrics calls the family as its sample.
void MetricsText::counter(std::string_view name, std::string_view help) {
  if (format_ == MetricsFormat::open_metrics) {
    begin(name, "counter", help);
    ending_ = "_total";
  } else {
    begin(fmt::format("{}_total", name), "counter", help);
  }
}

void MetricsText::begin(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  ending_.clear();
  fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  const auto unit = unit_of(name);
  if (format_ == MetricsFormat::open_metrics && !unit.empty())
    fmt::format_to(std::back_inserter(text_), "# UNIT {} {}\n", name, unit);
}

void MetricsText::sample(Labels labels, double value) { write(ending_, labels, value); }

void MetricsText::bucket(double bound, std::uint64_t below) {
  const auto text = fmt::format("{}", bound);
  write("_bucket", {{"le", text}}, static_cast<double>(below));
}

void MetricsText::finish_histogram(std::uint64_t count, double sum) {
  write("_bucket", {{"le", "+Inf"}}, static_cast<double>(count));
  write("_count", {}, static_cast<double>(count));
  write("_sum", {}, sum);
}

void MetricsText::write(std::string_view ending, Labels labels, double value) {
  text_ += name_;
  text_ += ending;
  char before = '{';
  for (const auto& [key, text] : labels) {
    fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", before, key, escaped(text));
    before = ',';
  }
  if (labels.size() != 0) text_ += '}';
  fmt::format_to(std::back_inserter(text_), " {}\n", value);
}

std::string MetricsText::take() {
  if (format_ == MetricsFormat::open_metrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace paceline
