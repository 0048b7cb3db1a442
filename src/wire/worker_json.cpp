#include "wire/worker_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/job_spec.hpp"
#include "model/progress.hpp"
#include "wire/launch_json.hpp"

namespace paceline {
namespace {

constexpr std::size_t kTextBytesMax = 4096;
constexpr std::int32_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::uint32_t kIdMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr auto kCountMax = static_cast<std::uint64_t>(kInt64Max);
constexpr std::int32_t kSignalMax = 64;
constexpr std::int32_t kExitCodeMax = 255;
constexpr double kCpusMax = 1e6;
constexpr double kRealMax = std::numeric_limits<double>::max();

void read_real(ObjectReader& reader, std::string_view key, std::optional<double>& out) {
  if (reader.find(key) == nullptr) return;
  reader.real(key, out.emplace(), -kRealMax, kRealMax);
}

void read_time(ObjectReader& reader, std::string_view key, Time& out) {
  std::optional<Time> read;
  reader.time(key, read);
  if (read) out = *read;
}

void read_cause(ObjectReader& reader, Cause& out) {
  std::string text(to_string(out));
  reader.text("cause", text, kTextBytesMax);
  if (const auto cause = parse_cause(text))
    out = *cause;
  else
    reader.mismatch("cause", "the name of a cause", *reader.find("cause"));
}

void write_slots(JsonWriter& json, const std::vector<std::uint32_t>& slots) {
  json.key("slots").begin_array();
  for (const auto slot : slots) json.value(slot);
  json.end_array();
}

void read_slots(ObjectReader& reader, std::vector<std::uint32_t>& out) {
  std::vector<std::int64_t> slots;
  reader.wholes("slots", slots, 0, kIdMax, kSlotsPerWorkerMax);
  for (const auto slot : slots) out.push_back(static_cast<std::uint32_t>(slot));
}

void read_metrics(ObjectReader& reader, std::map<std::string, double>& out) {
  const Json* metrics = reader.find("metrics");
  if (metrics == nullptr) return;
  if (!metrics->is_object() || metrics->size() > kMetricsMax) {
    reader.mismatch("metrics", "an object of at most 64 numbers", *metrics);
    return;
  }
  for (const auto& [name, value] : metrics->items()) {
    if (value.is_number()) out[name] = value.get<double>();
  }
}

void read_launch_into(ObjectReader& reader, LaunchSpec& out) {
  const Json* json = reader.find("launch");
  if (json == nullptr) return;
  auto launch = read_launch(*json);
  if (launch)
    out = std::move(*launch);
  else
    reader.refuse(std::move(launch.error()));
}

void write_gone(JsonWriter& json, const WorkerGone& gone) {
  json.begin_object();
  write_body(json, gone);
  json.end_object();
}

void read_gone_into(ObjectReader& reader, std::optional<WorkerGone>& out) {
  const Json* json = reader.find("gone");
  if (json == nullptr) return;
  if (auto read = read_body(*json, out.emplace()); !read) reader.refuse(std::move(read.error()));
}

}  // namespace

void write_key(JsonWriter& json, const WorkerKey& key) {
  json.field("job", key.job.value)
      .field("generation", key.generation.value)
      .field("rank", key.rank);
}

void read_key(ObjectReader& reader, WorkerKey& key) {
  reader.require({"job", "generation", "rank"})
      .whole("job", key.job.value, 0, kIdMax)
      .whole("generation", key.generation.value, 0, kIdMax)
      .whole("rank", key.rank, 0, kInt32Max);
}

void write_body(JsonWriter& json, const WorkerLaunch& worker) {
  write_key(json, worker.key);
  json.field("attempt", worker.attempt)
      .field("restart_count", worker.restart_count)
      .field("world_size", worker.world_size)
      .field("local_rank", worker.local_rank)
      .field("local_world_size", worker.local_world_size)
      .field("group_rank", worker.group_rank)
      .field("group_world_size", worker.group_world_size)
      .key("addresses")
      .begin_array();
  for (const auto& address : worker.addresses) json.value(address);
  json.end_array();
  write_slots(json, worker.slots);
  json.field("job_name", worker.job_name).field("user", worker.user).field("uid", worker.uid);
  write_launch(json.key("launch"), worker.launch);
  json.field("slots_per_worker", worker.slots_per_worker)
      .field("cpus", worker.cpus)
      .field("memory_bytes", worker.memory_bytes)
      .field("retries", worker.retries)
      .field("pty", worker.pty)
      .field("checkpoint_glob", worker.checkpoint_glob)
      .field("checkpoint", worker.checkpoint);
}

Result<void> read_body(const Json& json, WorkerLaunch& worker) {
  ObjectReader reader(json, "start_worker");
  read_key(reader, worker.key);
  reader.require({"launch"})
      .whole("attempt", worker.attempt, 0, kInt32Max)
      .whole("restart_count", worker.restart_count, 0, kInt32Max)
      .whole("world_size", worker.world_size, 1, kWorkersMax)
      .whole("local_rank", worker.local_rank, 0, kWorkersMax)
      .whole("local_world_size", worker.local_world_size, 1, kWorkersMax)
      .whole("group_rank", worker.group_rank, 0, kWorkersMax)
      .whole("group_world_size", worker.group_world_size, 1, kWorkersMax)
      .texts("addresses", worker.addresses, kWorkersMax)
      .text("job_name", worker.job_name, kTextBytesMax)
      .text("user", worker.user, kTextBytesMax)
      .whole("uid", worker.uid, 0, kIdMax)
      .whole("slots_per_worker", worker.slots_per_worker, 1, kSlotsPerWorkerMax)
      .real("cpus", worker.cpus, 0, kCpusMax)
      .whole("memory_bytes", worker.memory_bytes, 0, kCountMax)
      .whole("retries", worker.retries, 0, kRetriesMax)
      .flag("pty", worker.pty)
      .text("checkpoint_glob", worker.checkpoint_glob, kTextBytesMax)
      .text("checkpoint", worker.checkpoint, kTextBytesMax);
  read_slots(reader, worker.slots);
  read_launch_into(reader, worker.launch);
  return reader.finish();
}

void write_body(JsonWriter& json, const WorkerRuns& runs) {
  write_key(json, runs.key);
  json.field("pid", runs.pid);
}

Result<void> read_body(const Json& json, WorkerRuns& runs) {
  ObjectReader reader(json, "worker_runs");
  read_key(reader, runs.key);
  reader.whole("pid", runs.pid, 0, kInt64Max);
  return reader.finish();
}

void write_body(JsonWriter& json, const WorkerGone& gone) {
  write_key(json, gone.key);
  json.field("cause", to_string(gone.cause))
      .field("exit_code", gone.exit_code)
      .field("signal", gone.signal)
      .field("message", gone.message)
      .field("at", gone.at);
}

Result<void> read_body(const Json& json, WorkerGone& gone) {
  ObjectReader reader(json, "worker_gone");
  read_key(reader, gone.key);
  read_cause(reader, gone.cause);
  reader.whole("exit_code", gone.exit_code, 0, kExitCodeMax)
      .whole("signal", gone.signal, 0, kSignalMax)
      .text("message", gone.message, kTextBytesMax);
  read_time(reader, "at", gone.at);
  return reader.finish();
}

void write_body(JsonWriter& json, const WorkerReport& report) {
  write_key(json, report.key);
  json.field("report", report.report)
      .field("at", report.at)
      .field("step", report.step)
      .field("total_steps", report.total_steps)
      .field("samples", report.samples)
      .field("position", report.position)
      .field("epoch", report.epoch)
      .field("total_epochs", report.total_epochs)
      .field("step_seconds", report.step_seconds)
      .field("learning_rate", report.learning_rate)
      .key("metrics")
      .begin_object();
  for (const auto& [name, value] : report.metrics) json.field(name, value);
  json.end_object();
}

Result<void> read_body(const Json& json, WorkerReport& report) {
  ObjectReader reader(json, "worker_report");
  read_key(reader, report.key);
  reader.whole("report", report.report, 0, kCountMax)
      .whole("step", report.step, 0, kCountMax)
      .whole("total_steps", report.total_steps, 0, kCountMax)
      .whole("samples", report.samples, 0, kCountMax)
      .whole("position", report.position, 0, kCountMax);
  read_time(reader, "at", report.at);
  read_real(reader, "epoch", report.epoch);
  read_real(reader, "total_epochs", report.total_epochs);
  read_real(reader, "step_seconds", report.step_seconds);
  read_real(reader, "learning_rate", report.learning_rate);
  read_metrics(reader, report.metrics);
  return reader.finish();
}

void write_body(JsonWriter& json, const CheckpointSeen& checkpoint) {
  write_key(json, checkpoint.key);
  json.field("report", checkpoint.report)
      .field("at", checkpoint.at)
      .field("path", checkpoint.path)
      .field("step", checkpoint.step)
      .field("samples", checkpoint.samples);
}

Result<void> read_body(const Json& json, CheckpointSeen& checkpoint) {
  ObjectReader reader(json, "checkpoint");
  read_key(reader, checkpoint.key);
  reader.whole("report", checkpoint.report, 0, kCountMax)
      .text("path", checkpoint.path, kTextBytesMax)
      .whole("step", checkpoint.step, 0, kCountMax)
      .whole("samples", checkpoint.samples, 0, kCountMax);
  read_time(reader, "at", checkpoint.at);
  return reader.finish();
}

void write_body(JsonWriter& json, const Claim& claim) {
  write_key(json, claim.key);
  json.field("pid", claim.pid).field("noticed", claim.noticed);
  write_slots(json, claim.slots);
  if (claim.gone) write_gone(json.key("gone"), *claim.gone);
}

Result<void> read_body(const Json& json, Claim& claim) {
  ObjectReader reader(json, "a claim");
  read_key(reader, claim.key);
  reader.whole("pid", claim.pid, 0, kInt64Max).flag("noticed", claim.noticed);
  read_slots(reader, claim.slots);
  read_gone_into(reader, claim.gone);
  return reader.finish();
}

}  // namespace paceline
