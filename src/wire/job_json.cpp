#include "wire/job_json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "model/accrual.hpp"
#include "plan/reclaim.hpp"
#include "wire/launch_json.hpp"
#include "wire/spec_json.hpp"
#include "wire/words.hpp"

namespace paceline {
namespace {

constexpr std::array<std::string_view, 3> kWorkerStates = {"assigned", "running", "ended"};

// The gang that is shown: the current one, else the one that forms.
const Gang* shown_gang(const Job& job) {
  if (job.current) return &*job.current;
  return job.forming ? &*job.forming : nullptr;
}

std::string_view node_name(const State& state, NodeId id) {
  const Node* node = state.find_node(id);
  return node == nullptr ? std::string_view() : std::string_view(node->spec.name);
}

void write_size(JsonWriter& json, const Job& job) {
  json.field("workers", job.workers()).field("min", job.range.min).field("max", job.range.max);
  json.field("want", job.range.want).field("pinned", job.pinned && job.range.min == job.range.max);
  json.field("slots_per_worker", job.spec->slots_per_worker);
  write_places(json, *job.spec);
  json.field("cpus", unless_zero(job.spec->cpus));
  json.field("memory_bytes", unless_zero(job.spec->memory_bytes));
  json.field("log_limit_bytes", unless_zero(job.spec->log_limit_bytes));
}

void write_wishes(JsonWriter& json, const Job& job) {
  json.field("preemptible", job.spec->preemptible).field("priority", job.spec->priority);
  json.field("elastic", to_string(job.spec->elastic));
  json.field("on_disconnect", to_string(job.spec->on_disconnect));
  json.field("checkpoint_store", to_string(job.spec->checkpoint_store));
  json.field("retry", job.spec->retries).field("retries_used", job.retries_used);
  json.field("hold", job.held).key("after").begin_array();
  for (const auto id : job.spec->after) json.value(id.value);
  json.end_array();
}

void write_course(JsonWriter& json, const JobView& view) {
  const auto* gang = shown_gang(view.job);
  const auto generation = gang == nullptr ? view.job.last_generation : gang->generation;
  json.field("generation", generation.value).field("attempt", view.job.attempt);
  json.field("resizes", view.job.resizes).field("preemptions", view.job.preemptions);
  json.field("reason", sentence(view.reason)).field("reason_code", name(view.reason.code));
}

void write_metrics(JsonWriter& json, const JobView& view) {
  if (view.viewer == Viewer::other) {
    json.null_field("metrics");
    return;
  }
  json.key("metrics").begin_object();
  if (view.job.progress) {
    for (const auto& [metric, value] : view.job.progress->metrics) json.field(metric, value);
  }
  json.end_object();
}

void write_progress(JsonWriter& json, const Job& job) {
  if (!job.progress) {
    json.null_field("progress");
    return;
  }
  const auto& progress = *job.progress;
  json.key("progress").begin_object();
  json.field("step", progress.step).field("total_steps", progress.total_steps);
  json.field("epoch", progress.epoch).field("total_epochs", progress.total_epochs);
  json.field("samples", progress.samples);
  json.field("ratio", progress.ratio(job.spec->expected_samples));
  json.field("step_seconds", progress.step_seconds);
  json.field("learning_rate", progress.learning_rate);
  json.field("reported_at", progress.reported_at).end_object();
}

void write_target(JsonWriter& json, const Job& job) {
  if (!job.spec->target) {
    json.null_field("target");
    return;
  }
  const auto& target = *job.spec->target;
  json.key("target").begin_object();
  json.field("metric", target.metric).field("direction", to_string(target.direction));
  json.field("deliver", target.deliver).field("final", target.final);
  json.field("delivered_at", job.target.delivered_at);
  json.field("reached", job.target.reached_at.has_value());
  json.field("reached_at", job.target.reached_at).end_object();
}

void write_checkpoint(JsonWriter& json, const JobView& view) {
  if (!view.job.checkpoint || view.viewer == Viewer::other) {
    json.null_field("checkpoint");
    return;
  }
  const auto& checkpoint = *view.job.checkpoint;
  json.key("checkpoint").begin_object().field("path", checkpoint.path);
  json.field("step", checkpoint.step).field("samples", checkpoint.samples);
  json.field("acknowledged_at", checkpoint.acknowledged_at);
  const auto& place = checkpoint.place;
  json.field("node", place ? std::optional(place->node) : std::nullopt);
  json.field("kept", place ? std::optional(!place->ship.empty()) : std::nullopt);
  json.field("unkept",
             place && !place->unkept.empty() ? std::optional(place->unkept) : std::nullopt);
  json.end_object();
}

void write_resume(JsonWriter& json, const JobView& view) {
  if (!view.job.progress || !view.job.progress->resume || view.viewer == Viewer::other) {
    json.null_field("resume_audit");
    return;
  }
  const auto& resume = *view.job.progress->resume;
  json.key("resume_audit").begin_object().field("agrees", resume.agrees);
  json.field("text", resume.text).end_object();
}

void write_model(JsonWriter& json, const JobView& view) {
  if (!view.job.model || view.viewer == Viewer::other) {
    json.null_field("model");
    return;
  }
  const auto& model = *view.job.model;
  json.key("model").begin_object().field("node", model.node).field("path", model.path);
  json.field("sha256", model.sha256.empty() ? std::nullopt : std::optional(model.sha256));
  json.field("bytes", model.bytes).field("step", model.step).field("samples", model.samples);
  json.field("published_at", model.published_at).end_object();
}

void write_worker(JsonWriter& json, const Worker& worker, const State& state, std::size_t rank) {
  json.begin_object().field("rank", rank).field("node", node_name(state, worker.seat.node));
  json.key("slots").begin_array();
  for (const auto index : worker.seat.slots) json.value(index);
  json.end_array().field("pid", unless_zero(worker.pid));
  json.field("state", kWorkerStates.at(static_cast<std::size_t>(worker.state)));
  json.field("exit_code", exit_code_of(worker.ending)).end_object();
}

void write_gang(JsonWriter& json, const JobView& view) {
  static const std::vector<Worker> nobody;
  const auto* gang = shown_gang(view.job);
  const auto& workers = gang == nullptr ? nobody : gang->workers;
  json.key("gang").begin_array();
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    write_worker(json, workers[rank], view.state, rank);
  }
  json.end_array().key("pids").begin_array();
  for (const auto& worker : workers) {
    if (worker.state == WorkerState::running) json.value(worker.pid);
  }
  json.end_array().key("nodes").begin_array();
  std::vector<NodeId> listed;
  for (const auto& worker : workers) {
    if (std::ranges::find(listed, worker.seat.node) != listed.end()) continue;
    listed.push_back(worker.seat.node);
    json.value(node_name(view.state, worker.seat.node));
  }
  json.end_array();
}

void write_times(JsonWriter& json, const JobView& view) {
  const auto& job = view.job;
  json.field("submitted_at", job.submitted_at).field("started_at", job.started_at);
  json.field("ended_at", job.ended_at).field("max_duration_seconds", job.spec->max_duration);
  json.field("min_run_seconds", job.spec->minimum_run);
  json.field("stop_loss", job.spec->stop_loss).field("resize_loss", job.spec->resize_loss);
  json.field("expect_seconds", job.spec->expected_duration);
  json.field("expect_samples", job.spec->expected_samples);
  json.field("expect_speeds", unless_empty(points_text(job.spec->expected_speeds)));
  json.field("deadline_at", job.spec->deadline);
}

// The job that would start in its place, since when it is asked, and when it may be stopped.
void write_asked(JsonWriter& json, const JobView& view) {
  if (!view.job.is_asked()) return static_cast<void>(json.null_field("asked"));
  const Asked& asked = *view.job.current->asked;
  json.key("asked").begin_object().field("by", asked.by.value).field("since", asked.since);
  json.field("stops_at", may_stop_from({view.state, view.now}, view.job)).end_object();
}

void write_warnings(JsonWriter& json, const JobView& view) {
  json.key("warnings").begin_array();
  if (view.job.current && view.viewer == Viewer::owner) {
    const std::int32_t size = view.job.current->size();
    for (const Warning warning : view.job.current->warnings) {
      json.begin_object().field("code", to_string(warning));
      json.field("text", sentence(warning, size, size * view.job.spec->slots_per_worker))
          .end_object();
    }
  }
  json.end_array();
}

void write_left(JsonWriter& json, const std::optional<TimeLeft>& left) {
  if (!left) return static_cast<void>(json.null_field("remaining"));
  json.key("remaining").begin_object().field("seconds", left->likely);
  json.field("low_seconds", left->low).field("high_seconds", left->high);
  json.field("from", left->from).end_object();
}

// As of now.
void write_sums(JsonWriter& json, const JobView& view) {
  const auto& job = view.job;
  const auto accrual = accrued(job, view.now);
  const auto spent = [&](Duration Job::*sum) {
    return job.*sum + (sum == accrual.spent ? accrual.passed : Duration::zero());
  };
  json.field("waited_seconds", spent(&Job::waited)).field("ran_seconds", spent(&Job::ran));
  json.field("paused_seconds", spent(&Job::paused));
  json.field("slot_seconds", job.slot_seconds + accrual.slot_seconds);
  write_lost(json, lost_with(job, accrual));
}

void write_ending(JsonWriter& json, const JobView& view) {
  const auto& job = view.job;
  if (!job.ending || !is_over(job.state)) {
    json.null_field("exit_code").null_field("cause").null_field("ending");
    return;
  }
  json.field("exit_code", exit_code_of(job.ending)).field("cause", to_string(job.ending->cause));
  json.field("ending", sentence(view.reason));
}

}  // namespace

std::optional<std::int32_t> exit_code_of(const std::optional<Ending>& ending) {
  constexpr std::int32_t kSignalBase = 128;
  if (!ending) return {};
  return ending->signal > 0 ? kSignalBase + ending->signal : ending->exit_code;
}

void write_bill(JsonWriter& json, std::string_view key, const Bill& bill) {
  json.key(key).begin_object().field("preemption", bill.preemption);
  json.field("resize", bill.resize).field("failure", bill.failure).end_object();
}

void write_lost(JsonWriter& json, const Bill& lost) { write_bill(json, "lost_slot_seconds", lost); }

void write_job(JsonWriter& json, const JobView& view) {
  const auto& job = view.job;
  const bool owner = view.viewer == Viewer::owner;
  json.begin_object().field("id", job.id.value).field("name", job.spec->name);
  json.field("user", job.spec->user).field("uid", job.spec->uid);
  json.field("state", to_string(job.state));
  write_size(json, job);
  write_wishes(json, job);
  write_course(json, view);
  write_metrics(json, view);
  write_progress(json, job);
  write_target(json, job);
  write_checkpoint(json, view);
  write_resume(json, view);
  write_model(json, view);
  write_gang(json, view);
  write_times(json, view);
  write_left(json, view.left);
  write_asked(json, view);
  write_warnings(json, view);
  write_sums(json, view);
  write_ending(json, view);
  json.field("command", owner ? unless_empty(view.command) : std::nullopt);
  json.field("directory", owner ? unless_empty(view.directory) : std::nullopt).key("shipped");
  if (owner && !view.shipped.ship.empty())
    write_shipped(json, view.shipped);
  else
    json.null();
  json.end_object();
}

}  // namespace paceline
