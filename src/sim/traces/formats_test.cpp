// Each format on a few lines in its own manner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sim/traces/read_trace.hpp"

namespace paceline::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Recognised, and the same when its format is named.
Trace read_text(const std::string& text) {
  auto trace = read_trace_bytes(text, "trace", {});
  if (!trace) {
    ADD_FAILURE() << trace.error().message;
    return {};
  }
  const auto named = read_trace_bytes(text, "trace", {.format = trace->format});
  EXPECT_TRUE(named && named->jobs.size() == trace->jobs.size());
  return std::move(*trace);
}

std::vector<std::string> names(const Trace& trace) {
  std::vector<std::string> all;
  for (const TraceJob& job : trace.jobs) all.push_back(job.name);
  return all;
}

TEST(Itp, HasSecondsAndNames) {
  const Trace trace = read_text(
      "job_id,submission_time,duration,num_gpu\n"
      "0a5c,0,600,1\n"
      "71fe,12.5,3600.000001,8\n");
  EXPECT_EQ(trace.format, "itp");
  EXPECT_TRUE(trace.has_durations);
  ASSERT_THAT(names(trace), ElementsAre("0a5c", "71fe"));
  const TraceJob& job = trace.jobs[1];
  EXPECT_EQ(job.submitted, Time(12'500ms));
  EXPECT_EQ(job.duration, 3600s + 1us);
  EXPECT_EQ(job.slots, 8);
  EXPECT_EQ(job.line, 3);
  EXPECT_THAT(job.user + job.application, IsEmpty());
}

TEST(Itp, CountsWhatIsNoJobToRun) {
  const Trace trace = read_text(
      "job_id,submission_time,duration,num_gpu\n"
      "a,0,600,0\n"
      "b,0,0,0\n"
      "c,0,0.0,4\n"
      "d,0,1,0.5\n");
  EXPECT_EQ(trace.no_slots, 2U);
  EXPECT_EQ(trace.no_duration, 1U);
  ASSERT_THAT(names(trace), ElementsAre("d"));
  EXPECT_EQ(trace.jobs[0].slots, 1) << "a part of a slot takes one";
}

TEST(Philly, HasDatesInAnyOrderAndNoNames) {
  const Trace trace = read_text(
      "timestamp,duration,num_gpus,gpu_time,cluster\n"
      "2017-10-09 07:01:55,66.0,1,66.0,c1\n"
      "2017-10-09 06:13:03,2951.5,4,11806.0,c2\n"
      "\n");
  EXPECT_EQ(trace.format, "philly");
  ASSERT_THAT(names(trace), ElementsAre("2", "3"));
  EXPECT_EQ(trace.jobs[0].submitted, Time(1507532515s));
  EXPECT_EQ(trace.jobs[0].user, "c1");
  EXPECT_LT(trace.jobs[1].submitted, trace.jobs[0].submitted);
  EXPECT_EQ(trace.jobs[1].duration, 2951'500ms);
  EXPECT_EQ(trace.jobs[1].slots, 4);
}

TEST(Alibaba2023, RunsFromScheduledToDeletion) {
  const Trace trace = read_text(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
      "deletion_time,scheduled_time\n"
      "p0,12000,16384,1,460,,LS,Running,10,110,30\n"
      "p1,12000,16384,8,1000,V100M16|V100M32,LS,Succeeded,20,70,20\n"
      "p2,12000,16384,0,0,,LS,Running,20,70,20\n"
      "p3,12000,16384,1,1000,nan,BE,Pending,20,70,\n");
  EXPECT_EQ(trace.format, "alibaba-v2023");
  EXPECT_EQ(trace.no_slots, 1U);
  EXPECT_EQ(trace.no_duration, 1U);
  ASSERT_THAT(names(trace), ElementsAre("p0", "p1"));
  EXPECT_EQ(trace.jobs[0].slots, 1);
  EXPECT_EQ(trace.jobs[0].submitted, Time(10s));
  EXPECT_EQ(trace.jobs[0].duration, 80s);
  EXPECT_EQ(trace.jobs[1].slots, 8);
  EXPECT_THAT(trace.jobs[1].models, ElementsAre("V100M16", "V100M32"));
}

TEST(Pollux, HasNoDurations) {
  const Trace trace = read_text(
      "name,time,application,num_replicas,batch_size\n"
      "cifar10-0,107,cifar10,6,2048\n");
  EXPECT_EQ(trace.format, "pollux");
  EXPECT_FALSE(trace.has_durations);
  EXPECT_EQ(trace.no_duration, 0U);
  ASSERT_THAT(names(trace), ElementsAre("cifar10-0"));
  EXPECT_EQ(trace.jobs[0].submitted, Time(107s));
  EXPECT_EQ(trace.jobs[0].application, "cifar10");
  EXPECT_EQ(trace.jobs[0].slots, 6);
  EXPECT_EQ(trace.jobs[0].batch_size, 2048);
  EXPECT_EQ(trace.jobs[0].duration, 0s);
}

TEST(Tiresias, HasModelsAndIterations) {
  const Trace trace = read_text(
      "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n"
      "0,8,30,133,vgg11,147,23\n");
  EXPECT_EQ(trace.format, "tiresias");
  ASSERT_THAT(names(trace), ElementsAre("0"));
  EXPECT_EQ(trace.jobs[0].application, "vgg11");
  EXPECT_EQ(trace.jobs[0].steps, 133);
  EXPECT_EQ(trace.jobs[0].duration, 147s);
  EXPECT_EQ(trace.jobs[0].submitted, Time(30s));
}

TEST(Gavel, HasStepsAndThreeLayouts) {
  const Trace older =
      read_text("LM (batch size 5)\trun \"it\", now\t--steps\t1\t95121\t6.500000\t4\n");
  const Trace newer =
      read_text("LM (batch size 5)\trun\tlm\t--steps\t1\t95121\t4\t1\t-1.000000\t6.5\n");
  const Trace shockwave =
      read_text("LM (batch size 5)\trun\tlm\t--steps\t1\t95121\t4\tgns\t1\t-1.000000\t1418\t6.5\n");
  for (const Trace& trace : {older, newer, shockwave}) {
    EXPECT_EQ(trace.format, "gavel");
    EXPECT_EQ(trace.no_duration, 0U);
    ASSERT_THAT(names(trace), ElementsAre("1"));
    EXPECT_EQ(trace.jobs[0].application, "LM (batch size 5)");
    EXPECT_EQ(trace.jobs[0].steps, 95121);
    EXPECT_EQ(trace.jobs[0].slots, 4);
    EXPECT_EQ(trace.jobs[0].submitted, Time(6'500ms));
  }
  EXPECT_FALSE(older.has_durations);
  EXPECT_FALSE(newer.has_durations);
  EXPECT_TRUE(shockwave.has_durations);
  EXPECT_EQ(shockwave.jobs[0].duration, 1418s);
}

TEST(AnyFormat, TakesColumnsInAnyOrderAndPassesOthersOver) {
  const Trace trace = read_text(
      "\xEF\xBB\xBF,\"num_gpu\",note,duration,job_id,submission_time\r\n"
      "0,2,\"a, b\nc\",60,x,1\r\n");
  EXPECT_EQ(trace.format, "itp");
  EXPECT_EQ(trace.jobs.at(0).slots, 2);
  EXPECT_EQ(trace.jobs.at(0).name, "x");
}

TEST(AnyFormat, MaySayThatItIsInSeconds) {
  const Trace trace = read_text(
      "job_id,submission_time(s),duration (sec),num_gpu\n"
      "a,1,60,2\n");
  EXPECT_EQ(trace.format, "itp");
  EXPECT_EQ(trace.jobs.at(0).submitted, Time(1s));
  EXPECT_EQ(trace.jobs.at(0).duration, 60s);
}

TEST(OwnTrace, NeedsNoMoreThanTimesAndSlots) {
  const Trace trace = read_text(
      "submitted_at,duration,slots\n"
      "7.5,60,2\n"
      "1970-01-01 00:00:09,60,2\n");
  EXPECT_EQ(trace.format, "paceline");
  EXPECT_THAT(names(trace), ElementsAre("2", "3")) << "the numbers of their lines";
  EXPECT_EQ(trace.jobs[0].submitted, Time(7'500ms));
  EXPECT_EQ(trace.jobs[1].submitted, Time(9s));
}

TEST(OwnTrace, SaysWhichColumnIsWhich) {
  const auto columns =
      parse_own_columns("submitted_at=when,duration=how long(s),slots=gpus,user=who");
  ASSERT_TRUE(columns) << columns.error().message;
  const auto trace = read_trace_bytes("who,gpus,note,when,how long(s)\nann,2,x,5,60\n", "t.csv",
                                      {.columns = *columns});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->format, "paceline");
  EXPECT_EQ(trace->jobs.at(0).user, "ann");
  EXPECT_EQ(trace->jobs.at(0).slots, 2);
  EXPECT_EQ(trace->jobs.at(0).duration, 60s);
  EXPECT_EQ(trace->jobs.at(0).submitted, Time(5s));
}

TEST(AnyFormat, IsNamed) {
  EXPECT_THAT(trace_formats(), ElementsAre("auto", "itp", "philly", "alibaba-v2023", "pollux",
                                           "tiresias", "gavel", "paceline"));
}

RC_GTEST_PROP(AnyFormat, KeepsTheOrderOfTheFile, ()) {
  auto seconds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1'000'000));
  RC_PRE(!seconds.empty());
  std::string text = "job_id,submission_time,duration,num_gpu\n";
  for (std::size_t i = 0; i < seconds.size(); ++i)
    text += std::to_string(i) + ',' + std::to_string(seconds[i]) + ",1,1\n";
  const auto trace = read_trace_bytes(text, "trace", {});
  RC_ASSERT(trace.has_value());
  RC_ASSERT(trace->jobs.size() == seconds.size());
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    RC_ASSERT(trace->jobs[i].name == std::to_string(i));
    RC_ASSERT(trace->jobs[i].submitted == Time(std::chrono::seconds(seconds[i])));
  }
}

}  // namespace
}  // namespace paceline::sim
