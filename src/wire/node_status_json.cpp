#include "wire/node_status_json.hpp"

#include "plan/draining.hpp"

namespace paceline {
namespace {

// The worker that the slot's state speaks of: the one that is to get it, else the one that holds
// it.
const ProcessKey* worker_of(const Slot& slot) {
  if (slot.promise) return &*slot.promise;
  return slot.lease ? &slot.lease->worker : nullptr;
}

// The rank that it has, or is to have.
std::int32_t rank_of(const State& state, const ProcessKey& process) {
  const Job* job = state.find_job(process.job);
  for (const auto* gang : {job ? &job->current : nullptr, job ? &job->forming : nullptr}) {
    const auto rank = gang && *gang ? (*gang)->rank_of(process) : std::nullopt;
    if (rank) return *rank;
  }
  return process.number;
}

void write_slot(JsonWriter& json, const State& state, const Node& node, std::uint32_t index) {
  const auto& spec = node.slot_spec(index);
  json.begin_object().field("index", index).field("kind", to_string(spec.kind));
  json.field("model", spec.model).field("uuid", unless_empty(spec.uuid));
  json.field("memory_bytes", unless_zero(spec.memory_bytes));
  json.field("island", spec.island).field("numa", spec.numa);
  json.field("state", slot_state(node, index)).field("note", unless_empty(spec.note));
  const auto* worker = worker_of(node.slots[index]);
  if (worker == nullptr) {
    json.null_field("job").null_field("rank").end_object();
    return;
  }
  json.field("job", worker->job.value).field("rank", rank_of(state, *worker)).end_object();
}

void write_join(JsonWriter& json, const std::optional<NodeJoin>& join) {
  json.field("joined", join.has_value()).field("removed", join && join->removed);
  if (join) {
    json.field("joined_at", join->at).field("serial", join->serial);
    json.field("silent_seconds", join->silent).field("version", unless_empty(join->version));
  } else {
    json.null_field("joined_at").null_field("serial");
    json.null_field("silent_seconds").null_field("version");
  }
}

void write_refusal(JsonWriter& json, const Refusal& refusal) {
  json.key("refusal").begin_object().field("why", refusal.why);
  if (refusal.unhealthy)
    json.null_field("until");
  else
    json.field("until", refusal.until);
  json.field("unhealthy", refusal.unhealthy).end_object();
}

void write_drain(JsonWriter& json, const State& state, const Node& node) {
  const auto jobs = jobs_on(state, node);
  json.key("drain").begin_object().field("reason", unless_empty(node.drain->order.reason));
  json.field("by", unless_empty(node.drain->by.user)).field("begun", node.drains());
  json.field("keeps", node.drain->order.keeps);
  json.field("begins_at", state.drain_begins(node)).field("ends_at", state.drain_ends(node));
  json.key("jobs").begin_array();
  for (const JobId job : jobs) json.value(job.value);
  json.end_array().end_object();
}

}  // namespace

std::string_view slot_state(const Node& node, std::uint32_t index) {
  if (!node.up) return "down";
  if (!node.slot_spec(index).usable) return "unusable";
  const auto& slot = node.slots[index];
  if (slot.promise) return "promised";
  if (!slot.lease && node.drains()) return "draining";
  if (!slot.lease) return node.spec.refusal ? "refusing" : "free";
  return slot.lease->ending ? "ending" : "leased";
}

void write_node_status(JsonWriter& json, const State& state, const Node& node,
                       const std::optional<NodeJoin>& join) {
  json.begin_object().field("id", node.id.value).field("name", node.spec.name);
  json.field("state", node.up ? "up" : "lost").field("address", node.spec.address);
  json.field("rack", unless_empty(node.spec.rack));
  json.field("switch", unless_empty(node.spec.network_switch)).key("labels").begin_object();
  for (const auto& [key, value] : node.spec.labels) json.field(key, value);
  json.end_object();
  if (const auto& refusal = node.spec.refusal; refusal && node.up)
    write_refusal(json, *refusal);
  else
    json.null_field("refusal");
  if (node.drain)
    write_drain(json, state, node);
  else
    json.null_field("drain");
  write_join(json, join);
  json.field("off_by", unless_empty(node.off_by))
      .field("only_user", unless_empty(node.spec.only_user));
  json.field("lease_seconds", node.spec.lease);
  json.field("cpus", node.spec.cpus);
  json.field("memory_bytes", node.spec.memory_bytes).key("slots").begin_array();
  for (std::uint32_t i = 0; i < node.slots.size(); ++i) {
    const bool there = i < node.spec.slots.size();
    if (there || worker_of(node.slots[i]) != nullptr) write_slot(json, state, node, i);
  }
  json.end_array().end_object();
}

}  // namespace paceline
