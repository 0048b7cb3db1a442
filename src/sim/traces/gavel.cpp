#include <array>

#include "sim/traces/trace_format.hpp"
#include "sim/traces/values.hpp"

namespace paceline::sim {
namespace {

// The three layouts in use, told apart by their length: Gavel's older and newer one, and
// Shockwave's, which adds the duration.
constexpr std::array<std::string_view, 7> kOlder = {
    "job_type",    "command",      "num_steps_arg", "needs_data_dir",
    "total_steps", "arrival_time", "scale_factor"};
constexpr std::array<std::string_view, 10> kNewer = {
    "job_type",    "command",      "working_directory", "num_steps_arg", "needs_data_dir",
    "total_steps", "scale_factor", "priority_weight",   "SLO",           "arrival_time"};
constexpr std::array<std::string_view, 12> kShockwave = {
    "job_type",        "command",     "working_directory", "num_steps_arg",
    "needs_data_dir",  "total_steps", "scale_factor",      "mode",
    "priority_weight", "SLO",         "duration",          "arrival_time"};

template <std::size_t n>
std::vector<std::string_view> if_fits(const std::array<std::string_view, n>& layout,
                                      std::span<const std::string_view> line) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::string_view name = layout[i];
    if ((name == "total_steps" || name == "scale_factor") && !parse_count(line[i])) return {};
    if ((name == "arrival_time" || name == "duration") && !parse_millionths(line[i])) return {};
  }
  return {layout.begin(), layout.end()};
}

}  // namespace

std::vector<std::string_view> gavel_columns(std::span<const std::string_view> first) {
  switch (first.size()) {
    case kOlder.size():
      return if_fits(kOlder, first);
    case kNewer.size():
      return if_fits(kNewer, first);
    case kShockwave.size():
      return if_fits(kShockwave, first);
    default:
      return {};
  }
}

void read_gavel(CsvRow& row, TraceJob& job) {
  job.application = row.name("job_type");
  job.steps = row.count("total_steps");
  job.slots = row.slots("scale_factor");
  job.submitted = row.since_epoch("arrival_time");
  if (row.has("duration")) job.duration = row.seconds("duration");
}

}  // namespace paceline::sim
