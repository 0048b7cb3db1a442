#include <algorithm>

#include "sim/traces/trace_format.hpp"
#include "sim/traces/values.hpp"

namespace paceline::sim {
namespace {

// The GPUs in "cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G": the total where it is told, else the sum
// over the types.
struct Gpus {
  std::int64_t count = 0;
  std::vector<std::string> types;
};

ValueOr<Gpus> parse_tres(std::string_view text) {
  constexpr std::string_view kGpu = "gres/gpu";
  Gpus gpus;
  std::int64_t typed = 0;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    if (equals == std::string_view::npos || key.substr(0, kGpu.size()) != kGpu) continue;
    const std::string_view type = key.substr(kGpu.size());
    if (!type.empty() && type.front() != ':') continue;  // such as gres/gpumem
    const auto count = parse_count(part.substr(equals + 1));
    if (!count) return tl::unexpected<std::string_view>("has a count of GPUs that is no number");
    const std::int64_t some = std::min(*count, kTraceSlotsMax + 1);
    if (type.empty()) {
      gpus.count = some;
    } else if (some > 0) {
      typed = std::min(typed + some, kTraceSlotsMax + 1);
      gpus.types.emplace_back(type.substr(1));
    }
  }
  if (gpus.count == 0) gpus.count = typed;
  return gpus;
}

void read_gpus(CsvRow& row, TraceJob& job) {
  const std::string_view told = row.has("AllocTRES") ? "AllocTRES" : "ReqTRES";
  const std::string got = row.text(told);
  const std::string asked = row.text("ReqTRES");
  const auto gpus = parse_tres(got);
  const auto asked_gpus = parse_tres(asked);
  if (!gpus) return row.refuse(told, gpus.error());
  if (!asked_gpus) return row.refuse("ReqTRES", asked_gpus.error());
  job.slots = row.checked_slots(told, gpus->count);
  job.models = asked_gpus->types;
}

Duration run_of(CsvRow& row) {
  if (row.has("ElapsedRaw")) return row.seconds("ElapsedRaw");
  if (row.has("Elapsed")) return row.elapsed("Elapsed");
  if (!row.has("Start") || !row.has("End")) return {};
  const Time start = row.date_time("Start");
  return row.between("End", start, row.date_time("End"));
}

}  // namespace

RowIs read_sacct(CsvRow& row, TraceJob& job) {
  job.name = row.name("JobID");
  if (job.name.find('.') != std::string::npos) return RowIs::part_of_another;
  job.submitted = row.date_time("Submit");
  job.duration = run_of(row);
  job.user = row.text(row.has("User") ? "User" : "Account");
  read_gpus(row, job);
  return RowIs::job;
}

}  // namespace paceline::sim
