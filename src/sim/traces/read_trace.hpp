// Reads the public traces of GPU clusters as their files are: plain, .gz, .xz, .zst or .bz2, or one such file in a tar. `auto` tells the format by the first line.
//
//   Result<Trace> trace = read_trace("philly.csv.xz", {});
//
//   --format       columns read (others are passed over)            what they mean here
//   itp            job_id submission_time duration num_gpu           seconds
//   philly         timestamp duration num_gpus cluster               cluster: the user; no names
//   alibaba-v2023  name num_gpu gpu_milli gpu_spec creation_time     gpu_spec: the models allowed;
//                  deletion_time scheduled_time                      runs from scheduled to deletion
//   pollux         name time application num_replicas batch_size     no durations
//   tiresias       job_id num_gpu submit_time duration model_name    and iterations: the steps
//   gavel          job_type total_steps scale_factor arrival_time    tabs, no header, no names;
//                  [duration]                                        7 or 10 columns: no durations,
//                                                                    12 (Shockwave's): with them
//   paceline       submitted_at duration slots [job user             what write_trace() writes: with
//                  application batch models spec]                    sizes and wishes of their own;
//                                                                    submitted_at may be a date
//
// A column may say that it is in seconds: "duration(s)". TraceOptions::columns makes any other CSV a
// `paceline` trace.
//
// Slots are whole: a part of a GPU (gpu_milli 500) takes a slot.
// Seconds may have decimals and are exact to a microsecond. Dates without a zone are taken as UTC.
// Jobs stay in the order of the file; a name may come twice only where the format has none (philly
// and gavel). A job that asks for no slot, or never ran, is counted instead: in no_slots first, else
// in no_duration. Where a format has no durations, all are zero, Trace::has_durations says so, and no
// job is counted for it.
//
// Errors: one sentence with the file, the line, the column and the value. With skip_bad_lines a
// line that can't be read is counted in bad_lines instead; a file that is cut off, damaged or of
// another format stays an error. Bounds: kRecordBytesMax, kTraceJobsMax, kUnpackedBytesMax.
//
// Sources of the columns: microsoft/elasticflow-traces (itp); petuum/adaptdl, branch osdi21-artifact
// (philly, pollux); alibaba/clusterdata, cluster-trace-gpu-v2023; SymbioticLab/Tiresias, simulator;
// stanford-futuredata/gavel and uw-mad-dash/shockwave, scheduler/traces. Each was held against the
// published files themselves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sim/trace.hpp"
#include "sim/traces/own_columns.hpp"

namespace paceline::sim {

inline constexpr std::size_t kTraceJobsMax = 50'000'000;

struct TraceOptions {
  std::string format = "auto";
  bool skip_bad_lines = false;
  std::vector<OwnColumn> columns = {};  // of a trace of one's own
};

Result<Trace> read_trace(const std::string& path, const TraceOptions& options);

// The same of a file's bytes; `path` is for messages.
Result<Trace> read_trace_bytes(std::string_view bytes, const std::string& path,
                               const TraceOptions& options);

// The words of --format, `auto` first.
std::vector<std::string> trace_formats();

}  // namespace paceline::sim
