#include "agent/linux/claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "agent/linux/fields.hpp"
#include "agent/linux/files.hpp"

namespace paceline::agent {
namespace {

// Where the parts of a claim lie: each of them is written by one process, in one write.
constexpr std::size_t kTailAt = 0;
constexpr std::size_t kNoticeAt = 32;
static_assert(kTailAt + sizeof(TailPosition) <= kNoticeAt);
constexpr std::size_t kProcessesAt = 64;
constexpr std::size_t kEndingAt = 512;
constexpr std::size_t kOrderAt = 4096;
constexpr std::size_t kMessageMax = 2048;

// How a cause is written in a status file.
struct CauseWord {
  Cause cause;
  std::string_view word;
};
constexpr CauseWord kCauses[] = {
    {Cause::exited, "exited"},
    {Cause::signalled, "signalled"},
    {Cause::out_of_memory, "out_of_memory"},
    {Cause::launch_failed, "launch_failed"},
    {Cause::setup_failed, "setup_failed"},
    {Cause::node_lost, "node_lost"},
    {Cause::refused, "refused"},
};

std::string_view word_of(Cause cause) {
  for (const auto& entry : kCauses)
    if (entry.cause == cause) return entry.word;
  return "node_lost";
}

std::optional<Cause> cause_of(std::string_view word) {
  for (const auto& entry : kCauses)
    if (entry.word == word) return entry.cause;
  return std::nullopt;
}

void add_cgroups(FieldWriter& out, const CgroupPlan& plan) {
  out.add("cgroup.unified", plan.unified);
  out.add("cgroup.freezer", plan.freezer);
  out.add("cgroup.cpu", plan.cpu);
  out.add("cgroup.memory", plan.memory);
  out.add("cgroup.devices", plan.devices);
  out.add("limit.cpus", std::to_string(plan.limits.cpus));
  out.add("limit.memory", static_cast<std::int64_t>(plan.limits.memory_bytes));
  for (const std::string& device : plan.limits.denied_devices) out.add("limit.device", device);
}

bool read_cgroups(const NamedField& field, CgroupPlan& plan) {
  const auto& [name, value] = field;
  if (name == "cgroup.unified")
    plan.unified = value;
  else if (name == "cgroup.freezer")
    plan.freezer = value;
  else if (name == "cgroup.cpu")
    plan.cpu = value;
  else if (name == "cgroup.memory")
    plan.memory = value;
  else if (name == "cgroup.devices")
    plan.devices = value;
  else if (name == "limit.cpus")
    plan.limits.cpus = std::strtod(std::string(value).c_str(), nullptr);
  else if (name == "limit.memory")
    plan.limits.memory_bytes = static_cast<std::uint64_t>(field_number(value));
  else if (name == "limit.device")
    plan.limits.denied_devices.emplace_back(value);
  else
    return false;
  return true;
}

bool read_text(const NamedField& field, WorkerOrder& order) {
  struct Slot {
    std::string_view name;
    std::string WorkerOrder::*member;
  };
  static constexpr Slot kSlots[] = {
      {"boot", &WorkerOrder::boot_id},
      {"directory", &WorkerOrder::directory},
      {"setup", &WorkerOrder::setup},
      {"setup_outcome", &WorkerOrder::setup_outcome},
      {"control", &WorkerOrder::control},
      {"terminal", &WorkerOrder::terminal},
      {"log", &WorkerOrder::log},
      {"marker", &WorkerOrder::marker},
      {"name", &WorkerOrder::job_name},
      {"socket", &WorkerOrder::socket},
      {"checkpoint", &WorkerOrder::checkpoint},
      {"glob", &WorkerOrder::checkpoint_glob},
  };
  for (const auto& slot : kSlots)
    if (slot.name == field.first) {
      order.*slot.member = field.second;
      return true;
    }
  if (field.first == "argument")
    order.command.emplace_back(field.second);
  else if (field.first == "environment")
    order.environment.emplace_back(field.second);
  else if (field.first == "slot")
    order.slots.push_back(static_cast<std::uint32_t>(field_number(field.second)));
  else
    return false;
  return true;
}

void read_number(const NamedField& field, WorkerOrder& order) {
  const std::int64_t number = field_number(field.second);
  const std::string_view name = field.first;
  if (name == "umask")
    order.umask = static_cast<std::uint32_t>(number);
  else if (name == "uid")
    order.uid = static_cast<std::uint32_t>(number);
  else if (name == "shell")
    order.shell = number != 0;
  else if (name == "runs_setup")
    order.runs_setup = number != 0;
  else if (name == "log_offset")
    order.log_offset = number;
  else if (name == "started_us")
    order.started_us = number;
  else if (name == "attempt")
    order.attempt = static_cast<std::int32_t>(number);
  else if (name == "world_size")
    order.world_size = static_cast<std::int32_t>(number);
  else if (name == "local_rank")
    order.local_rank = static_cast<std::int32_t>(number);
  else if (name == "port")
    order.port = static_cast<std::uint32_t>(number);
}

void add_texts(FieldWriter& out, const WorkerOrder& order) {
  for (const std::string& argument : order.command) out.add("argument", argument);
  for (const std::string& entry : order.environment) out.add("environment", entry);
  for (const std::uint32_t slot : order.slots) out.add("slot", slot);
  out.add("boot", order.boot_id);
  out.add("directory", order.directory);
  out.add("setup", order.setup);
  out.add("setup_outcome", order.setup_outcome);
  out.add("terminal", order.terminal);
  out.add("control", order.control);
  out.add("log", order.log);
  out.add("marker", order.marker);
  out.add("name", order.job_name);
  out.add("socket", order.socket);
  out.add("checkpoint", order.checkpoint);
  out.add("glob", order.checkpoint_glob);
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

std::string claim_name(const WorkerKey& key) {
  return std::to_string(key.job.value) + "." + std::to_string(key.generation.value) + "." +
         std::to_string(key.rank);
}

std::optional<WorkerKey> parse_claim_name(std::string_view name) {
  WorkerKey key;
  if (take_number(name, key.job.value) && take_dot(name) &&
      take_number(name, key.generation.value) && take_dot(name) && take_number(name, key.rank) &&
      name.empty() && key.rank >= 0)
    return key;
  return std::nullopt;
}

std::string to_text(const WorkerOrder& order) {
  FieldWriter out;
  out.add("key", claim_name(order.key));
  add_texts(out, order);
  out.add("umask", order.umask);
  out.add("uid", order.uid);
  out.add("shell", order.shell ? 1 : 0);
  out.add("runs_setup", order.runs_setup ? 1 : 0);
  out.add("log_offset", order.log_offset);
  out.add("started_us", order.started_us);
  out.add("attempt", order.attempt);
  out.add("world_size", order.world_size);
  out.add("local_rank", order.local_rank);
  out.add("port", order.port);
  add_cgroups(out, order.cgroups);
  out.add("end", "");
  return out.text();
}

std::optional<WorkerOrder> parse_order(std::string_view text) {
  const std::vector<NamedField> all = fields(text);
  if (all.empty() || all.front().first != "key" || all.back().first != "end") return std::nullopt;
  const auto key = parse_claim_name(all.front().second);
  if (!key) return std::nullopt;
  WorkerOrder order;
  order.key = *key;
  for (const NamedField& field : all)
    if (!read_text(field, order) && !read_cgroups(field, order.cgroups)) read_number(field, order);
  if (order.command.empty()) return std::nullopt;
  return order;
}

std::string to_text(const WorkerEnding& ending) {
  FieldWriter out;
  out.add("cause", word_of(ending.cause));
  if (ending.exit_code) out.add("exit_code", *ending.exit_code);
  out.add("signal", ending.signal);
  out.add("at_us", ending.at_us);
  out.add("message", ending.message);
  out.add("end", "");
  return out.text();
}

std::optional<WorkerEnding> parse_ending(std::string_view text) {
  WorkerEnding ending;
  std::optional<Cause> cause;
  for (const auto& [name, value] : fields(text)) {
    if (name == "cause")
      cause = cause_of(value);
    else if (name == "exit_code")
      ending.exit_code = static_cast<std::int32_t>(field_number(value));
    else if (name == "signal")
      ending.signal = static_cast<std::int32_t>(field_number(value));
    else if (name == "at_us")
      ending.at_us = field_number(value);
    else if (name == "message")
      ending.message = value;
    else if (name == "end" && cause) {
      ending.cause = *cause;
      return ending;
    }
  }
  return std::nullopt;
}

Result<ClaimFile> ClaimFile::create(const std::string& path, const WorkerOrder& order) {
  ClaimFile claim(UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)));
  if (!claim) return fail(system_error("The worker's claim '" + path + "' can't be made", errno));
  const std::string text = std::string(kOrderAt, '\0') + to_text(order);
  if (!write_all(claim.fd_.get(), text) || !claim.lock())
    return fail(system_error("The worker's claim '" + path + "' can't be written", errno));
  return claim;
}

ClaimFile ClaimFile::open(const std::string& path) {
  return ClaimFile(UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
}

bool ClaimFile::lock() const { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0; }

bool ClaimFile::begun() const { return !lock() || processes().supervisor.pid != 0; }

std::string ClaimFile::read_at(std::size_t offset, std::size_t size) const {
  std::string text(size, '\0');
  const ssize_t n = ::pread(fd_.get(), text.data(), size, static_cast<off_t>(offset));
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

// What can't be written is learnt again or told in other ways; only the order and the supervisor are
// worth failing for.
bool ClaimFile::write_at(std::size_t offset, std::string_view text) const {
  return ::pwrite(fd_.get(), text.data(), text.size(), static_cast<off_t>(offset)) ==
         static_cast<ssize_t>(text.size());
}

std::optional<WorkerOrder> ClaimFile::order() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0 || info.st_size <= static_cast<off_t>(kOrderAt))
    return std::nullopt;
  const std::size_t size = static_cast<std::size_t>(info.st_size) - kOrderAt;
  return parse_order(read_at(kOrderAt, std::min(size, kSmallFileMax)));
}

WorkerProcesses ClaimFile::processes() const {
  WorkerProcesses processes;
  const std::string text = read_at(kProcessesAt, sizeof processes);
  if (text.size() == sizeof processes) std::memcpy(&processes, text.data(), sizeof processes);
  return processes;
}

bool ClaimFile::write(const WorkerProcesses& processes) const {
  return write_at(kProcessesAt, {reinterpret_cast<const char*>(&processes), sizeof processes});
}

TailPosition ClaimFile::tail() const {
  TailPosition tail;
  const std::string text = read_at(kTailAt, sizeof tail);
  if (text.size() == sizeof tail) std::memcpy(&tail, text.data(), sizeof tail);
  return tail;
}

void ClaimFile::write(const TailPosition& tail) const {
  write_at(kTailAt, {reinterpret_cast<const char*>(&tail), sizeof tail});
}

bool ClaimFile::noticed() const { return read_at(kNoticeAt, 1) == "n"; }

void ClaimFile::write_notice() const { write_at(kNoticeAt, "n"); }

std::optional<WorkerEnding> ClaimFile::ending() const {
  return parse_ending(read_at(kEndingAt, kOrderAt - kEndingAt));
}

void ClaimFile::write(const WorkerEnding& ending) const {
  WorkerEnding bounded = ending;
  bounded.message.resize(std::min(bounded.message.size(), kMessageMax));
  write_at(kEndingAt, to_text(bounded));
}

}  // namespace paceline::agent
