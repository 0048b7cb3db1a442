// The formats whose columns say everything by themselves.
#include "sim/traces/trace_format.hpp"

namespace paceline::sim {

RowIs read_itp(CsvRow& row, TraceJob& job) {
  job.name = row.name("job_id");
  job.submitted = row.since_epoch("submission_time");
  job.duration = row.seconds("duration");
  job.slots = row.slots("num_gpu");
  return RowIs::job;
}

RowIs read_philly(CsvRow& row, TraceJob& job) {
  job.submitted = row.date_time("timestamp");
  job.duration = row.seconds("duration");
  job.slots = row.slots("num_gpus");
  job.user = row.text("cluster");
  return RowIs::job;
}

RowIs read_helios(CsvRow& row, TraceJob& job) {
  job.name = row.name("job_id");
  job.user = row.text("user");
  job.application = row.text("jobname");
  job.submitted = row.date_time("submit_time");
  job.duration = row.has("duration") ? row.seconds("duration") : Duration{};
  job.slots = row.slots("gpu_num");
  return RowIs::job;
}

RowIs read_tiresias(CsvRow& row, TraceJob& job) {
  job.name = row.name("job_id");
  job.submitted = row.since_epoch("submit_time");
  job.duration = row.seconds("duration");
  job.slots = row.slots("num_gpu");
  job.application = row.text("model_name");
  if (row.has("iterations")) job.steps = row.count("iterations");
  return RowIs::job;
}

RowIs read_pollux(CsvRow& row, TraceJob& job) {
  job.name = row.name("name");
  job.submitted = row.since_epoch("time");
  if (row.has("duration")) job.duration = row.seconds("duration");
  job.slots = row.slots("num_replicas");
  job.application = row.name("application");
  job.batch_size = row.count("batch_size");
  return RowIs::job;
}

}  // namespace paceline::sim
