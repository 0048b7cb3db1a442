// What a training script says about itself, in each of the ways it may: the first byte chooses.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "wire/report.hpp"

using namespace paceline;

namespace {

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;

void judge(const Report& report) {
  for (const auto& count : {report.step, report.total_steps, report.samples, report.position})
    check(!count || *count <= kExact, "a count is exact");
  check(report.metrics.size() <= kMetricsMax, "metrics are bounded");
  for (const auto& [name, value] : report.metrics) {
    check(!name.empty() && name.size() <= kMetricNameMax && is_visible(name), "a name shows");
    check(std::isfinite(value), "a value is a number");
  }
  check(report.checkpoint.empty() || report.checkpoint.starts_with('/'), "a path is absolute");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'l':
      if (const auto report = parse_report_line(text)) judge(*report);
      break;
    case 'c':
      if (const auto report = parse_checkpoint(text)) judge(*report);
      break;
    case 't':
      if (const auto status = parse_trainer_status(text)) judge(status->report);
      break;
    default:
      if (const auto report = parse_report(text)) judge(*report);
  }
  return 0;
}
