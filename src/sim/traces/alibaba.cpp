#include <algorithm>
#include <array>

#include "sim/traces/trace_format.hpp"

namespace paceline::sim {
namespace {

constexpr std::array<std::string_view, 10> kTaskColumns = {
    "job_name", "task_name", "inst_num", "status",   "start_time",
    "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};

bool is_status(std::string_view word) {
  constexpr std::array<std::string_view, 4> kWords = {"Terminated", "Failed", "Running", "Waiting"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

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

std::vector<std::string_view> alibaba_v2020_columns(std::span<const std::string_view> first) {
  if (first.size() != kTaskColumns.size() || !is_status(first[3])) return {};
  return {kTaskColumns.begin(), kTaskColumns.end()};
}

RowIs read_alibaba_v2020(CsvRow& row, TraceJob& job) {
  constexpr std::int64_t kWholeSlot = 100'000'000;  // 100 percent in millionths
  job.name = row.name("job_name");
  job.name += '/' + row.text("task_name");
  const std::int64_t instances = row.has("inst_num") ? row.count("inst_num") : 1;
  const std::int64_t share = row.has("plan_gpu") ? row.millionths("plan_gpu") : 0;
  const std::int64_t each = (share + kWholeSlot - 1) / kWholeSlot;
  job.slots = row.checked_slots(
      "plan_gpu", row.checked_slots("inst_num", instances) * std::min(each, kTraceSlotsMax + 1));
  if (!row.has("start_time")) return RowIs::job;
  job.submitted = row.since_epoch("start_time");
  if (row.has("end_time"))
    job.duration = row.between("end_time", job.submitted, row.since_epoch("end_time"));
  return RowIs::job;
}

RowIs read_alibaba_v2023(CsvRow& row, TraceJob& job) {
  job.name = row.name("name");
  job.submitted = row.since_epoch("creation_time");
  job.slots = row.slots("num_gpu");
  if (job.slots == 0 && row.millionths("gpu_milli") > 0) job.slots = 1;
  if (row.has("gpu_spec")) job.models = split(row.text("gpu_spec"), '|');
  if (!row.has("scheduled_time") || !row.has("deletion_time")) return RowIs::job;
  const Time scheduled = row.since_epoch("scheduled_time");
  job.duration = row.between("deletion_time", scheduled, row.since_epoch("deletion_time"));
  return RowIs::job;
}

}  // namespace paceline::sim
