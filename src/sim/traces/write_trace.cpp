#include "sim/traces/write_trace.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "sim/csv_field.hpp"
#include "wire/spec_json.hpp"

namespace paceline::sim {
namespace {

std::string seconds_of(std::int64_t us) {
  return fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
}

Json json_of(const JobSpec& spec) {
  JsonWriter json;
  write_spec(json, spec);
  auto read = parse_json(json.text());
  check(read.has_value(), "a spec is written as JSON");
  return std::move(*read);
}

// Only what differs from a spec that says nothing.
std::string spec_text(const JobSpec& spec) {
  static const Json usual = json_of(JobSpec{});
  Json json = json_of(spec);
  for (const auto& [key, value] : usual.items()) {
    if (json.at(key) == value) json.erase(key);
  }
  return json.dump();
}

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const Workload& workload) : out_(out), workload_(workload) {}

  void write() {
    out_ << "job,submitted_at,duration,slots,user,application,batch,models,spec\n";
    for (const Arrival& arrival : workload_.arrivals) write(arrival);
  }

 private:
  void write(const Arrival& arrival) {
    const TraceJob& job = workload_.trace->jobs[arrival.job];
    std::string models;
    for (const std::string& model : job.models) models += (models.empty() ? "" : "|") + model;
    fmt::print(out_, "{},{},{},{},{},{},{},{},{}\n", csv_field(job.name),
               seconds_of(to_us(arrival.at)), seconds_of(job.duration.count()), job.slots,
               csv_field(job.user), csv_field(job.application),
               job.batch_size > 0 ? std::to_string(job.batch_size) : "", csv_field(models),
               csv_field(spec_of(job, arrival)));
    newest_[job.line] = JobId{++line_};
  }

  [[nodiscard]] std::string spec_of(const TraceJob& job, const Arrival& arrival) const {
    const WorkerRange& range = arrival.range;
    if (!job.spec && range.min == range.max) return {};
    JobSpec spec = job.spec ? own_spec(job, arrival.at, newest_) : named_spec(job);
    spec.workers = range;
    return spec_text(spec);
  }

  static JobSpec named_spec(const TraceJob& job) {
    JobSpec spec = plain_spec(job);
    spec.name = (job.application.empty() ? job.name : job.application).substr(0, kNameLengthMax);
    return spec;
  }

  std::ostream& out_;
  const Workload& workload_;
  std::uint32_t line_ = 1;  // written so far
  NewestOfLine newest_;     // as lines of this file
};

}  // namespace

void write_trace(std::ostream& out, const Workload& workload) {
  TraceWriter(out, workload).write();
}

}  // namespace paceline::sim
