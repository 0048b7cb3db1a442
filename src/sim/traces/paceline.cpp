// What write_trace() writes, and what people write by hand: with fewer columns.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/traces/trace_format.hpp"
#include "wire/spec_json.hpp"

namespace paceline::sim {
namespace {

constexpr JsonBounds kSpecBounds{.bytes_max = 64 << 10, .depth_max = 8, .values_max = 4'096};

std::vector<std::string> cut_at_bars(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('|'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Result<JobSpec> spec_of(std::string_view text) {
  const auto json = parse_json(text, kSpecBounds);
  if (!json) return fail(json.error());
  return read_spec(*json);
}

}  // namespace

void read_paceline(CsvRow& row, TraceJob& job) {
  if (row.has("job")) job.name = row.name("job");
  job.submitted = row.point_in_time("submitted_at");
  job.duration = row.seconds("duration");
  job.slots = row.slots("slots");
  job.user = row.text("user");
  job.application = row.text("application");
  if (row.has("batch")) job.batch_size = row.count("batch");
  job.models = cut_at_bars(row.text("models"));
  if (!row.has("spec")) return;
  auto spec = spec_of(row.raw("spec"));
  if (!spec) {
    row.refuse("spec", fmt::format("is no spec: {}", spec.error().message));
  } else if (std::int64_t{spec->workers.want} * spec->slots_per_worker != job.slots) {
    row.refuse("spec", "wants another number of slots than its line");
  } else {
    spec->user = job.user;
    if (spec->devices.empty()) spec->devices = job.models;
    job.spec = std::make_shared<const JobSpec>(std::move(*spec));
  }
}

}  // namespace paceline::sim
