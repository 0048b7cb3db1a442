// The descriptions of the nouns that stand both in the journal and in checkpoints. The convention
// is in wire/fields.hpp.
#pragma once

#include "model/event.hpp"
#include "model/gang.hpp"
#include "model/ids.hpp"
#include "model/job_spec.hpp"
#include "model/node.hpp"
#include "model/progress.hpp"
#include "model/reason.hpp"
#include "model/target.hpp"
#include "model/wall_clock.hpp"
#include "wire/fields.hpp"

namespace paceline {

// The words are those of the generation and the rank that it was born into.
template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ProcessKey>& process) {
  auto& [job, born, number] = process;
  fields("job", job)("generation", born)("rank", number);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, SlotSpec>& slot) {
  auto& [kind, model, uuid, memory_bytes, usable, note, island, numa] = slot;
  fields("kind", kind)("model", model)("uuid", uuid)("memory_bytes", memory_bytes);
  fields("usable", usable)("note", note);
  fields.unless(0, "island", island).unless(0, "numa", numa);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Refusal>& refusal) {
  auto& [why, until, unhealthy] = refusal;
  fields("why", why)("until", until).unless(false, "unhealthy", unhealthy);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PortRange>& range) {
  auto& [first, end] = range;
  fields("first", first)("end", end);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeSpec>& node) {
  auto& [name, address, rack, cpus, memory_bytes, slots, network_switch, labels, refusal, machine,
         ports, only_user, strangers, lease, reach_port, reach_nonce, keeps] = node;
  fields("name", name)("address", address)("rack", rack)("cpus", cpus);
  fields("memory_bytes", memory_bytes)("slots", slots)("switch", network_switch);
  fields("labels", labels)("refusal", refusal)("machine", machine);
  fields("ports", ports)("only_user", only_user)("strangers", strangers);
  fields("lease_seconds", lease).unless(0U, "reach_port", reach_port);
  fields("reach_nonce", reach_nonce).unless(false, "keeps", keeps);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Principal>& principal) {
  auto& [user, uid, roles, known_by] = principal;
  fields("user", user)("uid", uid)("roles", roles)("known_by", known_by);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, DrainOrder>& order) {
  auto& [reason, from, until, within, keeps, limit] = order;
  fields("reason", reason)("from", from)("until", until)("within_seconds", within);
  fields.unless(false, "keeps", keeps).unless(false, "limit", limit);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Drain>& drain) {
  auto& [order, by, begun_at] = drain;
  fields("order", order)("by", by)("begun_at", begun_at);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerRange>& range) {
  auto& [min, max, want] = range;
  fields("min", min)("max", max)("want", want);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Target>& target) {
  auto& [metric, direction, deliver, final] = target;
  fields("metric", metric)("direction", direction)("deliver", deliver)("final", final);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Notice>& notice) {
  auto& [signal, grace] = notice;
  fields("signal", signal)("grace_seconds", grace);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Mesh>& mesh) {
  auto& [tensor, pipeline] = mesh;
  fields("tensor", tensor)("pipeline", pipeline);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Affinity>& affinity) {
  auto& [anti, to, name, value, reach, give_up_after] = affinity;
  fields("anti", anti)("to", to)("name", name)("value", value)("reach", reach);
  fields("give_up_after_seconds", give_up_after);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, JobSpec>& spec) {
  auto& [name, user, uid, workers, slots_per_worker, mesh, devices, affinity, exclusive, cpus,
         memory_bytes, log_limit_bytes, preemptible, priority, max_duration, minimum_run, stop_loss,
         resize_loss, expected_duration, expected_samples, expected_speeds, deadline, retries,
         elastic, checkpoint_glob, target, after, hold, pty, notice, on_disconnect,
         checkpoint_store] = spec;
  fields("name", name)("user", user)("uid", uid)("workers", workers);
  fields("slots_per_worker", slots_per_worker).unless(Mesh{}, "mesh", mesh);
  fields("devices", devices)("affinity", affinity)("exclusive", exclusive)("cpus", cpus);
  fields("memory_bytes", memory_bytes).unless(0U, "log_limit_bytes", log_limit_bytes);
  fields.unless(true, "preemptible", preemptible);
  fields("priority", priority)("max_duration_seconds", max_duration);
  fields("min_run_seconds", minimum_run)("stop_loss", stop_loss)("resize_loss", resize_loss);
  fields("expect_seconds", expected_duration)("expect_samples", expected_samples);
  fields("expect_speeds", expected_speeds);
  fields("deadline_at", deadline)("retry", retries)("elastic", elastic);
  fields("checkpoint", checkpoint_glob)("target", target)("after", after);
  fields("hold", hold)("pty", pty)("notice", notice);
  fields.unless(OnDisconnect::stop, "on_disconnect", on_disconnect);
  fields.unless(CheckpointStore::server, "checkpoint_store", checkpoint_store);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Seat>& seat) {
  auto& [node, slots] = seat;
  fields("node", node)("slots", slots);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Ending>& ending) {
  auto& [cause, exit_code, signal, message, at] = ending;
  fields("cause", cause)("exit_code", exit_code)("signal", signal)("message", message)("at", at);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, CheckpointPlace>& place) {
  auto& [node, inside, by, report, ship, unkept] = place;
  fields("node", node).unless("", "inside", inside)("by", by)("report", report);
  fields.unless("", "ship", ship).unless("", "unkept", unkept);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Checkpoint>& checkpoint) {
  auto& [path, step, samples, acknowledged_at, place] = checkpoint;
  fields("path", path)("step", step)("samples", samples)("acknowledged_at", acknowledged_at);
  fields("place", place);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, PublishedModel>& model) {
  auto& [node, path, sha256, bytes, step, samples, published_at] = model;
  fields("node", node)("path", path)("sha256", sha256)("bytes", bytes);
  fields("step", step)("samples", samples)("published_at", published_at);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Boot>& boot) {
  auto& [id, at] = boot;
  fields("id", id)("at", at);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ResumeAudit>& resume) {
  auto& [agrees, text] = resume;
  fields("agrees", agrees)("text", text);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Progress>& progress) {
  auto& [step, total_steps, samples, position, epoch, total_epochs, step_seconds, learning_rate,
         metrics, reported_at, resume] = progress;
  fields("step", step)("total_steps", total_steps)("samples", samples)("position", position);
  fields("epoch", epoch)("total_epochs", total_epochs)("step_seconds", step_seconds);
  fields("learning_rate", learning_rate)("metrics", metrics)("reported_at", reported_at);
  fields.unless(std::nullopt, "resume_audit", resume);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Rules>& rules) {
  auto& [reclaim_after] = rules;
  fields("reclaim_after_seconds", reclaim_after);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Reason>& reason) {
  auto& [code, numbers, text] = reason;
  fields("reason_code", code)("reason_numbers", numbers)("reason_text", text);
}

}  // namespace paceline
