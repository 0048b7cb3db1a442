#include "agent/linux/claim_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "agent/linux/fields.hpp"
#include "base/check.hpp"
#include "base/digest.hpp"

namespace paceline::agent {
namespace {

constexpr std::string_view kSealedFirst = "claim";
constexpr std::string_view kSealedVersion = "2";
constexpr std::string_view kSealedLast = "digest";
constexpr std::string_view kLastField = "end";

// By what a worker may end. The words are those of the journal.
constexpr Cause kCauses[] = {Cause::exited,        Cause::signalled,    Cause::out_of_memory,
                             Cause::launch_failed, Cause::setup_failed, Cause::timed_out,
                             Cause::node_lost,     Cause::refused,      Cause::missing};

bool may_end_by(Cause cause) {
  return std::find(std::begin(kCauses), std::end(kCauses), cause) != std::end(kCauses);
}

template <class T>
bool take_number(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string claim_name(const ProcessKey& key) {
  return std::to_string(key.job.value) + "." + std::to_string(key.born.value) + "." +
         std::to_string(key.number);
}

std::optional<ProcessKey> parse_claim_name(std::string_view name) {
  ProcessKey key;
  if (take_number(name, key.job.value) && take_dot(name) && take_number(name, key.born.value) &&
      take_dot(name) && take_number(name, key.number) && name.empty() && key.number >= 0)
    return key;
  return std::nullopt;
}

// ---- the descriptions ----

template <>
struct TextForm<ProcessKey> {
  static std::string write(const ProcessKey& key) { return claim_name(key); }
  static bool read(std::string_view text, ProcessKey& key) {
    const auto known = parse_claim_name(text);
    key = known.value_or(ProcessKey{});
    return known.has_value();
  }
};

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, RunLimit>& limit) {
  auto& [left, signal, grace] = limit;
  fields("run.left_us", left)("run.signal", signal)("run.grace_us", grace);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, CgroupPlan>& plan, ClaimFormat format) {
  auto& [unified, freezer, cpu, memory, devices, pids, limits] = plan;
  auto& [cpus, memory_bytes, denied_devices, processes] = limits;
  fields("cgroup.unified", unified)("cgroup.freezer", freezer)("cgroup.cpu", cpu);
  fields("cgroup.memory", memory)("cgroup.devices", devices);
  fields("limit.cpus", cpus)("limit.memory", memory_bytes)("limit.device", denied_devices);
  if (format == ClaimFormat::sealed) fields("cgroup.pids", pids)("limit.processes", processes);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerOrder>& order, ClaimFormat format) {
  auto& [key, boot_id, command, environment, directory, umask, uid, groups, shell, setup,
         runs_setup, setup_outcome, log, log_offset, marker, terminal, control, cgroups, limit,
         lease_us, lease_signal, lease_grace_us, shm, submitted_us, witnesses, started_us, attempt,
         rank, world_size, local_rank, slots, port, job_name, socket, checkpoint, checkpoint_glob,
         status_port, status_token, log_limit_bytes] = order;
  fields(kPlainFirst, key)("argument", command)("environment", environment)("slot", slots);
  fields("boot", boot_id)("directory", directory)("setup", setup)("setup_outcome", setup_outcome);
  fields("terminal", terminal)("control", control)("log", log)("marker", marker);
  fields("name", job_name)("socket", socket)("checkpoint", checkpoint)("glob", checkpoint_glob);
  fields("umask", umask)("uid", uid)("shell", shell)("runs_setup", runs_setup);
  fields("log_offset", log_offset)("started_us", started_us)("attempt", attempt);
  fields("world_size", world_size)("local_rank", local_rank)("port", port);
  describe(fields, cgroups, format);
  fields("group", groups)("witness", witnesses).unless(0, "status_port", status_port);
  fields.unless({}, "status_token", status_token).unless(key.number, "rank", rank);
  fields.unless(0U, "log_limit", log_limit_bytes).unless(0, "submitted_us", submitted_us);
  fields.unless(0, "lease_us", lease_us).unless(15, "lease_signal", lease_signal);
  fields.unless(0, "lease_grace_us", lease_grace_us);
  if (format == ClaimFormat::sealed) fields("shm", shm).part("run.", limit);
}

template <class Fields>
void describe(Fields& fields, FieldsOf<Fields, WorkerEnding>& ending) {
  auto& [cause, exit_code, signal, at_us, message, alone] = ending;
  fields("cause", cause)("exit_code", exit_code)("signal", signal)("at_us", at_us);
  fields.unless(false, "alone", alone)("message", message);
}

// ---- the texts ----

std::string to_text(const WorkerOrder& order, ClaimFormat format) {
  TextWriter out;
  const bool sealed = format == ClaimFormat::sealed;
  if (sealed) out.add(kSealedFirst, kSealedVersion);
  describe(out, order, format);
  const std::uint64_t digest = Digest().add(std::string_view(out.text())).value();
  if (sealed)
    out.add(kSealedLast, std::string_view(fmt::format("{:016x}", digest)));
  else
    out.add(kLastField, "");
  return out.text();
}

// Writing it again shows whether all is exactly as it was written, the digest included.
std::optional<WorkerOrder> parse_order(std::string_view text) {
  TextReader in(text);
  const auto format = in.accept(kSealedFirst) ? ClaimFormat::sealed : ClaimFormat::plain;
  WorkerOrder order;
  describe(in, order, format);
  if (!in.ok() || order.command.empty() || to_text(order, format) != text) return std::nullopt;
  return order;
}

std::string to_text(const WorkerEnding& ending) {
  check(may_end_by(ending.cause), "a worker ends by a cause of its own");
  TextWriter out;
  describe(out, ending);
  out.add(kLastField, "");
  return out.text();
}

std::optional<WorkerEnding> parse_ending(std::string_view text) {
  TextReader in(text);
  WorkerEnding ending;
  describe(in, ending);
  if (!in.ok() || !in.accept(kLastField) || !may_end_by(ending.cause)) return std::nullopt;
  return ending;
}

}  // namespace paceline::agent
