#include "sim/study/study_json.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <set>
#include <string_view>

#include "sim/csv_field.hpp"
#include "wire/json_writer.hpp"

namespace paceline::sim {
namespace {

// That it names.
std::size_t count_users(const Trace& trace) {
  std::set<std::string_view> users;
  for (const TraceJob& job : trace.jobs)
    if (!job.user.empty()) users.insert(job.user);
  return users.size();
}

void write_trace(JsonWriter& json, const Trace& trace, const StudyWords& words) {
  json.key("trace").begin_object();
  json.field("file", words.trace).field("format", trace.format);
  json.field("jobs", trace.jobs.size());
  json.field("no_slots", trace.no_slots).field("no_duration", trace.no_duration);
  json.field("bad_lines", trace.bad_lines);
  json.field("users", count_users(trace));
  json.field("cut_short", trace.cut_short).field("not_over", trace.not_over);
  json.end_object();
}

void write_profiles(JsonWriter& json, const Setup& setup) {
  if (!setup.trainings) return static_cast<void>(json.null_field("profiles"));
  json.key("profiles").begin_object().field("batch", to_string(setup.trainings->batch()));
  json.field("unknown", setup.trainings->unknown()).end_object();
}

void write_settings(JsonWriter& json, const StudyPlan& plan, const StudyWords& words) {
  const Setup& setup = plan.setup;
  json.key("settings").begin_object();
  json.field("know", to_string(setup.know)).field("placement", setup.placement);
  json.field("protect", setup.protects);
  json.key("costs").begin_object();
  json.field("restart_seconds", to_seconds(setup.costs.restart));
  json.field("resize_seconds", to_seconds(setup.costs.resize));
  json.end_object();
  json.field("failures_per_slot_hour", setup.failures_per_slot_hour);
  json.field("save_every_seconds", to_seconds(setup.save_every));
  json.field("reclaim_after_seconds", to_seconds(setup.reclaim_after));
  json.field("on_failure", to_string(setup.on_failure));
  json.field("load", plan.workload.load);
  json.field("elastic", unless_empty(words.elastic)).field("speedup", speedup_text(setup));
  write_profiles(json, setup);
  json.key("devices").begin_array();
  for (const std::string& model : models_of(setup.nodes)) json.value(model);
  json.end_array();
  json.field("device_speeds", setup.devices ? std::optional(setup.devices->text()) : std::nullopt);
  json.field("learning", setup.learning ? std::optional(setup.learning->text()) : std::nullopt);
  json.field("reach",
             plan.workload.reach ? std::optional(plan.workload.reach->text()) : std::nullopt);
  json.field("warmup_seconds", to_seconds(plan.window.warmup));
  json.field("cooldown_seconds", to_seconds(plan.window.cooldown));
  json.end_object();
}

void write_unfairness(JsonWriter& json, const Unfairness& unfairness) {
  json.key("unfairness").begin_object();
  json.field("mean_rho", unfairness.mean_rho).field("p99_rho", unfairness.p99_rho);
  json.field("worst_rho", unfairness.worst_rho).field("above_one", unfairness.above_one);
  json.field("jain", unfairness.jain);
  json.end_object();
}

void write_targets(JsonWriter& json, const Measures& measures, const Setup& setup) {
  if (!setup.learning) return static_cast<void>(json.null_field("targets"));
  json.key("targets").begin_object().field("reached", measures.reached);
  json.field("average_seconds", measures.average_time_to_target);
  json.field("median_seconds", measures.median_time_to_target);
  json.field("p99_seconds", measures.p99_time_to_target).end_object();
}

void write_failures(JsonWriter& json, const ScriptFailures& failures) {
  json.field("failed_rounds", failures.rounds);
  if (failures.rounds == 0) return static_cast<void>(json.null_field("failure"));
  json.key("failure").begin_object().field("why", failures.why);
  json.field("after_seconds", to_seconds(failures.first));
  json.field("replaced_after_seconds",
             failures.left ? std::optional(to_seconds(*failures.left)) : std::nullopt);
  json.end_object();
}

void write_run(JsonWriter& json, const StudyRun& run, const StudyPlan& plan) {
  const Measures& m = run.measures;
  json.begin_object();
  json.field("policy", plan.policies[run.policy].text()).field("seed", run.seed);
  json.field("jobs", m.jobs).field("rejected", run.rejected + run.outcome.refused);
  json.field("unfinished", run.outcome.unfinished);
  json.field("average_jct_seconds", m.average_jct).field("median_jct_seconds", m.median_jct);
  json.field("p99_jct_seconds", m.p99_jct).field("average_wait_seconds", m.average_wait);
  json.field("makespan_seconds", m.makespan).field("utilization", m.utilization);
  json.field("useful_utilization", m.useful_utilization);
  json.field("resizes", m.resizes).field("preemptions", m.preemptions);
  json.key("gpu_seconds_lost").begin_object();
  json.field("preemption", m.lost.preemption).field("resize", m.lost.resize);
  json.field("failure", m.lost.failure);
  json.end_object();
  write_unfairness(json, m.unfairness);
  write_targets(json, m, plan.setup);
  write_failures(json, run.outcome.failures);
  json.field("digest", fmt::format("{:016x}", run.outcome.digest));
  json.field("events", run.outcome.events).field("wall_seconds", run.wall_seconds);
  json.end_object();
}

void write_comparison(JsonWriter& json, const Comparison& comparison, const StudyPlan& plan) {
  json.begin_object();
  json.field("policy", plan.policies[comparison.policy].text());
  json.field("against", plan.policies.front().text());
  json.field("measure", comparison.measure).field("ratio", comparison.ratio);
  json.field("low", comparison.low).field("high", comparison.high);
  json.end_object();
}

std::string seconds_or_nothing(const std::optional<Time>& at, Time from) {
  return at ? fmt::format("{}", to_seconds(*at - from)) : "";
}

}  // namespace

std::string to_json(const Study& study, const StudyPlan& plan, const StudyWords& words) {
  std::int64_t slots = 0;
  for (const NodeSpec& node : plan.setup.nodes)
    slots += static_cast<std::int64_t>(node.slots.size());
  JsonWriter json;
  json.begin_object();
  write_trace(json, *plan.trace, words);
  json.key("cluster").begin_object();
  json.field("text", words.cluster).field("what_if", unless_empty(words.what_if));
  json.field("nodes", plan.setup.nodes.size()).field("slots", slots);
  json.end_object();
  write_settings(json, plan, words);
  json.key("runs").begin_array();
  for (const StudyRun& run : study.runs) write_run(json, run, plan);
  json.end_array();
  json.key("comparisons").begin_array();
  for (const Comparison& one : study.comparisons) write_comparison(json, one, plan);
  json.end_array().field("command", words.command).end_object();
  return json.take();
}

void write_jobs_csv(std::ostream& out, const Study& study, const StudyPlan& plan) {
  out << "policy,seed,job,user,slots,length,submitted,started,ended,jct,wait,slot_seconds,resizes,"
         "preemptions\n";
  for (const StudyRun& run : study.runs) {
    for (const JobOutcome& job : run.outcome.jobs) {
      const TraceJob& source = plan.trace->jobs[job.job];
      const Time origin = run.outcome.jobs.front().submitted;
      fmt::print(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                 csv_field(plan.policies[run.policy].text()), run.seed, csv_field(source.name),
                 csv_field(source.user), job.slots, to_seconds(job.length),
                 to_seconds(job.submitted - origin), seconds_or_nothing(job.started, origin),
                 seconds_or_nothing(job.ended, origin),
                 seconds_or_nothing(job.ended, job.submitted), to_seconds(job.waited),
                 job.slot_seconds, job.resizes, job.preemptions);
    }
  }
}

}  // namespace paceline::sim
