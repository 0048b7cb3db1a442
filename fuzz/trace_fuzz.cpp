// A trace from outside: whatever is read keeps the bounds that the simulator relies on, and says why
// it was refused. The first byte chooses the format, then comes the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "sim/traces/read_trace.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

constexpr std::chrono::seconds kLongest{10'000'000'000};

void check_job(const Trace& trace, const TraceJob& job) {
  check(job.slots > 0 && job.slots <= 1'000'000, "a job has slots");
  check(job.submitted >= Time{} && job.submitted <= Time(kLongest + std::chrono::years(1)),
        "a job was submitted at some time");
  check(job.duration >= Duration{} && job.duration <= kLongest, "a run has a length");
  check(trace.has_durations == (job.duration != Duration{}),
        "a job's duration is told, or none is");
  check(!job.name.empty() && is_utf8(job.name + job.user + job.application), "names are text");
  check(job.line > 0 && job.batch_size >= 0 && job.steps >= 0, "numbers are in their range");
}

void try_reading(std::string_view bytes, const TraceOptions& options) {
  const auto trace = read_trace_bytes(bytes, "fuzz", options);
  if (!trace) return check(!trace.error().message.empty(), "an error says what is wrong");
  check(options.skip_bad_lines || trace->bad_lines == 0, "lines are skipped only when asked for");
  for (const TraceJob& job : trace->jobs) check_job(*trace, job);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto formats = trace_formats();
  const std::string& format = formats[data[0] % formats.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  try_reading(bytes, {.format = format});
  try_reading(bytes, {.format = format, .skip_bad_lines = true});
  return 0;
}
