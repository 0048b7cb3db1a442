// The formats whose columns say everything by themselves.
#include "sim/traces/trace_format.hpp"

namespace paceline::sim {

void read_itp(CsvRow& row, TraceJob& job) {
  job.name = row.name("job_id");
  job.submitted = row.since_epoch("submission_time");
  job.duration = row.seconds("duration");
  job.slots = row.slots("num_gpu");
}

void read_philly(CsvRow& row, TraceJob& job) {
  job.submitted = row.date_time("timestamp");
  job.duration = row.seconds("duration");
  job.slots = row.slots("num_gpus");
  job.user = row.text("cluster");
}

void read_tiresias(CsvRow& row, TraceJob& job) {
  job.name = row.name("job_id");
  job.submitted = row.since_epoch("submit_time");
  job.duration = row.seconds("duration");
  job.slots = row.slots("num_gpu");
  job.application = row.text("model_name");
  if (row.has("iterations")) job.steps = row.count("iterations");
}

void read_pollux(CsvRow& row, TraceJob& job) {
  job.name = row.name("name");
  job.submitted = row.since_epoch("time");
  if (row.has("duration")) job.duration = row.seconds("duration");
  job.slots = row.slots("num_replicas");
  job.application = row.name("application");
  job.batch_size = row.count("batch_size");
}

}  // namespace paceline::sim
