#include "wire/agent_protocol.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/number.hpp"
#include "wire/agent_bounds.hpp"
#include "wire/model_fields.hpp"

namespace paceline {

namespace {

using Variables = std::map<std::string, std::string>;

// An agent from before takes a message for malformed that has a key which it doesn't know, and is cut off with
// all that runs there. So what travels with a job is told as a variable, as "9f86d0… 132 4100000", and so are
// witnesses, a line for each: there the job then looks for its directory where that came from.
constexpr const char *kShipped = "PACELINE_SHIPPED", *kWitnesses = "PACELINE_WITNESSES";

Variables with_directory(const LaunchSpec& launch) {
  Variables variables = launch.environment;
  variables.erase(kShipped);
  variables.erase(kWitnesses);
  const auto& [ship, files, bytes] = launch.shipped;
  if (!ship.empty()) variables[kShipped] = fmt::format("{} {} {}", ship, files, bytes);
  if (!launch.witnesses.empty())
    variables[kWitnesses] = fmt::format("{}", fmt::join(launch.witnesses, "\n"));
  return variables;
}

std::vector<std::string> take_witnesses(Variables& variables) {
  const auto told = variables.extract(kWitnesses);
  std::vector<std::string> witnesses;
  if (told.empty()) return witnesses;
  for (std::size_t begin = 0; begin <= told.mapped().size();) {
    const auto end = std::min(told.mapped().find('\n', begin), told.mapped().size());
    witnesses.push_back(told.mapped().substr(begin, end - begin));
    begin = end + 1;
  }
  return witnesses;
}

ShippedDirectory take_shipped(Variables& variables) {
  const auto told = variables.extract(kShipped);
  const std::string_view text = told.empty() ? std::string_view() : told.mapped();
  const auto first = text.find(' '), last = text.rfind(' ');
  if (first == last) return {};
  const auto files = parse_number<std::uint64_t>(text.substr(first + 1, last - first - 1));
  const auto bytes = parse_number<std::uint64_t>(text.substr(last + 1));
  if (first == 0 || !files || !bytes) return {};
  return {std::string(text.substr(0, first)), *files, *bytes};
}

}  // namespace

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, LaunchSpec>& launch) {
  auto& [command, shell, setup, environment, directory, umask, shared_shm, groups, shipped,
         witnesses] = launch;
  fields("command", command)("shell", shell)("setup", setup);
  if constexpr (Fields::kWrites) {
    fields("environment", with_directory(launch));
  } else {
    fields("environment", environment);
    shipped = take_shipped(environment);
    witnesses = take_witnesses(environment);
  }
  fields("directory", directory)("umask", umask)("shared_shm", shared_shm)("groups", groups);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, RunLimit>& limit) {
  auto& [left, signal, grace] = limit;
  fields("left_seconds", left)("signal", signal)("grace_seconds", grace);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, GangPlace>& place) {
  auto& [local_rank, local_world_size, group_rank, group_world_size, address, port] = place;
  fields("local_rank", local_rank)("local_world_size", local_world_size);
  fields("group_rank", group_rank)("group_world_size", group_world_size);
  fields("address", address)("port", port);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, GangPeer>& peer) {
  auto& [node, address, port, nonce] = peer;
  fields("node", node)("address", address)("port", port)("nonce", nonce);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, CheckpointCopy>& copy) {
  auto& [node, inside, ship] = copy;
  fields("node", node).unless("", "inside", inside)("ship", ship);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerLaunch>& worker) {
  auto& [key, rank, attempt, restart_count, world_size, local_rank, local_world_size, group_rank,
         group_world_size, addresses, slots, local_slots, port, job_name, user, uid, launch,
         slots_per_worker, cpus, memory_bytes, log_limit_bytes, retries, pty, checkpoint_glob,
         checkpoint, age, limit, lease, joins, peers, copy] = worker;
  describe(fields, key);
  fields.unless(key.number, "rank_in_gang", rank);
  fields("attempt", attempt)("restart_count", restart_count)("world_size", world_size);
  fields("local_rank", local_rank)("local_world_size", local_world_size);
  fields("group_rank", group_rank)("group_world_size", group_world_size);
  fields("addresses", addresses)("slots", slots)("local_slots", local_slots)("port", port);
  fields("job_name", job_name)("user", user)("uid", uid);
  fields("launch", launch)("slots_per_worker", slots_per_worker)("cpus", cpus);
  fields("memory_bytes", memory_bytes).unless(0U, "log_limit_bytes", log_limit_bytes);
  fields("retries", retries)("pty", pty);
  fields("checkpoint_glob", checkpoint_glob)("checkpoint", checkpoint);
  fields.unless(Duration::zero(), "age_seconds", age)("limit", limit)("lease", lease);
  fields("joins", joins)("peers", peers)("copy", copy);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerRuns>& runs) {
  auto& [key, pid] = runs;
  describe(fields, key);
  fields("pid", pid);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerGone>& gone) {
  auto& [key, cause, exit_code, signal, message, at, alone] = gone;
  describe(fields, key);
  fields("cause", cause)("exit_code", exit_code)("signal", signal)("message", message)("at", at);
  fields.unless(false, "alone", alone);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerReport>& report) {
  auto& [key, number, at, step, total_steps, samples, position, epoch, total_epochs, step_seconds,
         learning_rate, metrics, resume] = report;
  describe(fields, key);
  fields("report", number)("at", at)("step", step)("total_steps", total_steps);
  fields("samples", samples)("position", position)("epoch", epoch)("total_epochs", total_epochs);
  fields("step_seconds", step_seconds)("learning_rate", learning_rate)("metrics", metrics);
  fields.unless(std::nullopt, "resume_audit", resume);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, CheckpointSeen>& checkpoint) {
  auto& [key, report, at, path, step, samples, inside] = checkpoint;
  describe(fields, key);
  fields("report", report)("at", at)("path", path)("step", step)("samples", samples);
  fields.unless("", "inside", inside);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ModelSeen>& model) {
  auto& [key, report, at, path, sha256, bytes, step, samples] = model;
  describe(fields, key);
  fields("report", report)("at", at)("path", path)("sha256", sha256)("bytes", bytes);
  fields("step", step)("samples", samples);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerWarning>& warned) {
  auto& [key, warning, holds] = warned;
  describe(fields, key);
  fields("warning", warning)("holds", holds);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerPlaced>& placed) {
  auto& [key, ready, stands] = placed;
  describe(fields, key);
  fields.unless(Generation{}, "ready", ready).unless(Generation{}, "stands", stands);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Claim>& claim) {
  auto& [key, pid, gone, noticed, slots, ready, stands] = claim;
  describe(fields, key);
  fields("pid", pid)("gone", gone)("noticed", noticed)("slots", slots);
  fields.unless(Generation{}, "ready", ready).unless(Generation{}, "stands", stands);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Hello>& hello) {
  auto& [node, boot_id, claims] = hello;
  fields("node", node)("boot_id", boot_id)("claims", claims);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, NodeChanged>& changed) {
  auto& [node] = changed;
  fields("node", node);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, StartWorker>& start) {
  auto& [worker] = start;
  describe(fields, worker);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, StopWorker>& stop) {
  auto& [key, signal, grace] = stop;
  describe(fields, key);
  fields("signal", signal)("grace_seconds", grace);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, FreezeWorker>& freeze) {
  auto& [key] = freeze;
  describe(fields, key);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ThawWorker>& thaw) {
  auto& [key] = thaw;
  describe(fields, key);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, ShouldStop>& should_stop) {
  auto& [key, reason] = should_stop;
  describe(fields, key);
  fields("reason", reason);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, DiscardWorker>& discard) {
  auto& [key] = discard;
  describe(fields, key);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, FenceJob>& fence) {
  auto& [job, generation] = fence;
  fields("job", job)("generation", generation);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, LimitWorker>& limited) {
  auto& [key, limit] = limited;
  describe(fields, key);
  fields("limit", limit);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, Membership>& membership) {
  auto& [generation, rank, world_size] = membership;
  fields("generation", generation)("rank", rank)("world_size", world_size);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, EnrolWorker>& enrolled) {
  auto& [key, membership, place] = enrolled;
  describe(fields, key);
  fields("membership", membership)("place", place);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, LeaveGang>& leave) {
  auto& [key, generation, grace] = leave;
  describe(fields, key);
  fields("without", generation)("grace_seconds", grace);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WantedCheckpoint>& checkpoint) {
  auto& [key, report, path, user, uid] = checkpoint;
  describe(fields, key);
  fields("report", report)("path", path)("user", user)("uid", uid);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, KeepCheckpoint>& keep) {
  auto& [checkpoint] = keep;
  describe(fields, checkpoint);
}

namespace {

// The key that a message stands under in its frame, in the order of the variant.
template <class Message>
inline constexpr std::array<std::string_view, std::variant_size_v<Message>> kKinds{};

template <>
inline constexpr std::array<std::string_view, std::variant_size_v<AgentMessage>>
    kKinds<AgentMessage> = {"hello",          "node_changed",    "worker_runs",
                            "worker_report",  "checkpoint_seen", "worker_gone",
                            "worker_warning", "worker_placed",   "model_seen"};

template <>
inline constexpr std::array<std::string_view, std::variant_size_v<ServerMessage>>
    kKinds<ServerMessage> = {"start_worker", "stop_worker",    "freeze_worker",  "thaw_worker",
                             "should_stop",  "discard_worker", "fence_job",      "limit_worker",
                             "enrol_worker", "leave_gang",     "keep_checkpoint"};

template <class Message>
std::string encode_frame(const Frame<Message>& frame) {
  JsonWriter json;
  json.begin_object();
  FieldWriter fields(json);
  fields("session", frame.session)("number", frame.number);
  fields("received", frame.received)("durable", frame.durable);
  fields.unless(Time{}, "clock", frame.clock);
  if (frame.message) {
    const auto kind = kKinds<Message>[frame.message->index()];
    std::visit([&](const auto& message) { fields(kind, message); }, *frame.message);
  }
  json.end_object();
  return json.take();
}

template <class Message, std::size_t i = 0>
void read_message(JsonScanner& in, std::optional<Message>& message) {
  if constexpr (i < std::variant_size_v<Message>) {
    if (!in.accept_key(kKinds<Message>[i], First::no))
      return read_message<Message, i + 1>(in, message);
    std::variant_alternative_t<i, Message> read;
    Form<decltype(read)>::read(in, read);
    message = std::move(read);
  }
}

template <class Message>
Result<Frame<Message>> decode_frame(std::string_view text) {
  if (text.size() > kFrameBytesMax)
    return fail(ErrorCode::too_large, "A frame has at most 16 MiB.");
  JsonScanner in(text);
  Frame<Message> frame;
  in.expect('{');
  FieldReader fields(in);
  fields("session", frame.session)("number", frame.number);
  fields("received", frame.received)("durable", frame.durable);
  fields.unless(Time{}, "clock", frame.clock);
  read_message(in, frame.message);
  in.expect('}').finish();
  if (!in.ok()) return fail(ErrorCode::data, in.problem());
  if (frame.message.has_value() != (frame.number != 0)) {
    return fail(ErrorCode::data, "a frame has a number if and only if it has a message");
  }
  return frame;
}

template <class Message>
Result<Frame<Message>> in_bounds(Result<Frame<Message>> frame) {
  if (!frame || !frame->message) return frame;
  if (auto held = hold_to_bounds(*frame->message); !held) return fail(held.error());
  return frame;
}

}  // namespace

std::string encode(const AgentFrame& frame) { return encode_frame(frame); }
std::string encode(const ServerFrame& frame) { return encode_frame(frame); }

Result<AgentFrame> decode_agent_frame(std::string_view text) {
  auto frame = decode_frame<AgentMessage>(text);
  if (!frame) return frame;
  const Time least{-kTimeToldMax.time_since_epoch()};
  if (frame->clock < least || kTimeToldMax < frame->clock)
    return fail(ErrorCode::data, "a time is out of range");
  return in_bounds(std::move(frame));
}
Result<ServerFrame> decode_server_frame(std::string_view text) {
  return in_bounds(decode_frame<ServerMessage>(text));
}

}  // namespace paceline
