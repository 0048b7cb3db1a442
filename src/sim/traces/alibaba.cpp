#include "sim/traces/trace_format.hpp"

namespace paceline::sim {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; end != std::string_view::npos && !text.empty();) {
    end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

}  // namespace

void read_alibaba_v2023(CsvRow& row, TraceJob& job) {
  job.name = row.name("name");
  job.submitted = row.since_epoch("creation_time");
  job.slots = row.slots("num_gpu");
  if (job.slots == 0 && row.millionths("gpu_milli") > 0) job.slots = 1;
  if (row.has("gpu_spec")) job.models = split(row.text("gpu_spec"), '|');
  if (!row.has("scheduled_time") || !row.has("deletion_time")) return;
  const Time scheduled = row.since_epoch("scheduled_time");
  job.duration = row.between("deletion_time", scheduled, row.since_epoch("deletion_time"));
}

}  // namespace paceline::sim
