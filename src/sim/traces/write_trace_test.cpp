#include "sim/traces/write_trace.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "sim/cluster.hpp"
#include "sim/study/simulation.hpp"
#include "sim/traces/read_trace.hpp"

namespace paceline::sim {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string text_of(const Workload& workload) {
  std::ostringstream out;
  write_trace(out, workload);
  return out.str();
}

std::shared_ptr<const Trace> read_back(const std::string& text) {
  auto trace = read_trace_bytes(text, "out.trace", {});
  EXPECT_TRUE(trace) << trace.error().message;
  return std::make_shared<const Trace>(trace ? std::move(*trace) : Trace{});
}

std::shared_ptr<const Trace> some_trace() {
  auto trace = std::make_shared<Trace>();
  for (int i = 0; i < 60; ++i) {
    TraceJob job;
    job.name = "job \"" + std::to_string(i) + "\", mine";
    job.submitted = Time{} + hours{500'000} + minutes{i * 47} + Duration{i};
    job.duration = minutes{30 + i * 7 % 50} + Duration{123'457};
    job.slots = 1 + i % 4;
    job.user = i % 3 == 0 ? "ann" : "bob";
    job.application = i % 2 == 0 ? "bert" : "";
    job.batch_size = i % 2 == 0 ? 128 : 0;
    job.line = i + 2;
    trace->jobs.push_back(job);
  }
  return trace;
}

std::uint64_t digest_of(const Workload& workload, const std::string& policy) {
  Setup setup;
  setup.nodes = *parse_cluster("2x4");
  setup.policy.name = policy;
  setup.know = Know::estimate;
  setup.speedup = Speedup::amdahl(0.05);
  const PolicyRegistry registry;
  return simulate(workload, setup, registry).value().digest;
}

TEST(WriteTrace, IsReadBackWithTheSamePlans) {
  WorkloadOptions options;
  options.seed = 3;
  options.load = 1.7;
  options.elastic = parse_elastic_rule("min=1,max=2x").value();
  const Workload workload = make_workload(some_trace(), 8, options);
  const std::string text = text_of(workload);
  const auto back = read_back(text);
  EXPECT_EQ(back->format, "paceline");
  const Workload again = make_workload(back, 8, {});
  EXPECT_EQ(text_of(again), text);
  for (const char* policy : {"elastic-srtf", "afs", "fifo"})
    EXPECT_EQ(digest_of(again, policy), digest_of(workload, policy)) << policy;
}

// The same part of the training is met again.
TEST(WriteTrace, KeepsDurationsWhole) {
  WorkloadOptions options;
  options.reach = TargetPart{0.5, 0.5};
  const Workload workload = make_workload(some_trace(), 8, options);
  const Workload again = make_workload(read_back(text_of(workload)), 8, options);
  ASSERT_EQ(again.arrivals.size(), workload.arrivals.size());
  for (std::size_t i = 0; i < again.arrivals.size(); ++i)
    EXPECT_EQ(again.arrivals[i].length, workload.arrivals[i].length);
}

TEST(PacelineTrace, ASpecThatNamesNoDevicesHasThoseOfItsLine) {
  const auto trace = read_back(
      "submitted_at,duration,slots,models,spec\n"
      "0,60,1,A100,\"{\"\"name\"\":\"\"b\"\",\"\"priority\"\":60}\"\n"
      "0,60,1,A100,\"{\"\"name\"\":\"\"b\"\",\"\"devices\"\":[\"\"T4\"\"]}\"\n");
  ASSERT_EQ(trace->jobs.size(), 2U);
  EXPECT_EQ(trace->jobs[0].spec->devices, std::vector<std::string>{"A100"});
  EXPECT_EQ(trace->jobs[1].spec->devices, std::vector<std::string>{"T4"});
}

TEST(WriteTrace, KeepsEveryWishAndWhatItNames) {
  const std::string text =
      "job,submitted_at,duration,slots,user,application,models,spec\n"
      "a,1000,60,4,ann,train,A100|H100,\"{\"\"name\"\":\"\"train\"\",\"\"workers\"\":\"\"2..4@"
      "2\"\","
      "\"\"slots_per_worker\"\":2,\"\"devices\"\":[\"\"A100\"\",\"\"H100\"\"],\"\"priority\"\":60}"
      "\"\n"
      "b,1001.5,0.25,1,bob,,,\n"
      "c,1002,60,1,ann,eval,,\"{\"\"name\"\":\"\"eval\"\",\"\"after\"\":[2],"
      "\"\"deadline_at\"\":5000}\"\n";
  const auto trace = read_back(text);
  ASSERT_EQ(trace->jobs.size(), 3U);
  const JobSpec& spec = *trace->jobs[0].spec;
  EXPECT_EQ(spec.workers, (WorkerRange{2, 4, 2}));
  EXPECT_EQ(spec.devices, trace->jobs[0].models);
  EXPECT_EQ(spec.user, "ann");
  EXPECT_EQ(trace->jobs[1].spec, nullptr);
  EXPECT_EQ(trace->jobs[2].spec->after, std::vector<JobId>{JobId{2}});
  const std::string again = text_of(make_workload(trace, 8, {}));
  EXPECT_EQ(text_of(make_workload(read_back(again), 8, {})), again);
  EXPECT_THAT(again, HasSubstr("after"));
}

TEST(PacelineTrace, SaysWhichLineIsWrong) {
  const std::string header = "job,submitted_at,duration,slots,user,application,models,spec\n";
  const auto message = [&](const std::string& line) {
    const auto read = read_trace_bytes(header + line, "out.trace", {});
    return read ? "read" : read.error().message;
  };
  EXPECT_THAT(message("a,1,60,2,,,,{}x"), StartsWith("'out.trace', line 2, column 'spec'"));
  EXPECT_THAT(message("a,1,60,2,,,,\"{\"\"name\"\":\"\"a\"\",\"\"workers\"\":\"\"3\"\"}\""),
              HasSubstr("wants another number of slots than its line"));
  EXPECT_THAT(message("a,1,60,2,,,,\"{\"\"wrkers\"\":2}\""), HasSubstr("is no spec"));
  EXPECT_THAT(message("a,1,-60,2,,,,"), HasSubstr("column 'duration': '-60' is negative"));
}

}  // namespace
}  // namespace paceline::sim
