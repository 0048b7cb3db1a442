#include "agent/linux/claim.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/linux/fields.hpp"
#include "agent/linux/files.hpp"
#include "base/check.hpp"
#include "base/digest.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kMessageMax = 2048;
constexpr std::size_t kSealSize = sizeof(std::uint64_t);
constexpr std::size_t kNameMax = 15;  // that the kernel keeps of a process's name
constexpr std::string_view kSealedFirst = "claim";
constexpr std::string_view kPlainFirst = "key";
constexpr std::string_view kSealedVersion = "2";

// By what a worker may end. The words are those of the journal.
constexpr Cause kCauses[] = {Cause::exited,        Cause::signalled,    Cause::out_of_memory,
                             Cause::launch_failed, Cause::setup_failed, Cause::timed_out,
                             Cause::node_lost,     Cause::refused};

bool may_end_by(Cause cause) {
  return std::find(std::begin(kCauses), std::end(kCauses), cause) != std::end(kCauses);
}

std::optional<Cause> cause_of(std::string_view word) {
  const auto cause = parse_cause(word);
  return cause && may_end_by(*cause) ? cause : std::nullopt;
}

// A code that can't be read must not pass for 0, which is success.
bool is_small_number(std::string_view value) {
  const std::int64_t number = field_number(value);
  return std::in_range<std::int32_t>(number) && std::to_string(number) == value;
}

std::string hex(std::uint64_t value) { return fmt::format("{:016x}", value); }

void add_limit(FieldWriter& out, const RunLimit& limit) {
  out.add("run.left_us", limit.left.count());
  out.add("run.signal", limit.signal);
  out.add("run.grace_us", limit.grace.count());
}

bool read_limit(const NamedField& field, std::optional<RunLimit>& limit) {
  const auto& [name, value] = field;
  if (!name.starts_with("run.")) return false;
  if (!limit) limit.emplace();
  if (name == "run.left_us") limit->left = Duration{field_number(value)};
  if (name == "run.signal") limit->signal = static_cast<std::int32_t>(field_number(value));
  if (name == "run.grace_us") limit->grace = Duration{field_number(value)};
  return true;
}

void add_cgroups(FieldWriter& out, const CgroupPlan& plan, ClaimFormat format) {
  out.add("cgroup.unified", plan.unified);
  out.add("cgroup.freezer", plan.freezer);
  out.add("cgroup.cpu", plan.cpu);
  out.add("cgroup.memory", plan.memory);
  out.add("cgroup.devices", plan.devices);
  out.add("limit.cpus", std::to_string(plan.limits.cpus));
  out.add("limit.memory", static_cast<std::int64_t>(plan.limits.memory_bytes));
  for (const std::string& device : plan.limits.denied_devices) out.add("limit.device", device);
  if (format == ClaimFormat::plain) return;
  out.add("cgroup.pids", plan.pids);
  out.add("limit.processes", static_cast<std::int64_t>(plan.limits.processes));
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
  else if (name == "cgroup.pids")
    plan.pids = value;
  else if (name == "limit.processes")
    plan.limits.processes = static_cast<std::uint64_t>(field_number(value));
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
      {"status_token", &WorkerOrder::status_token},
      {"shm", &WorkerOrder::shm},
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
  else if (field.first == "group")
    order.groups.push_back(static_cast<std::uint32_t>(field_number(field.second)));
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
  else if (name == "rank")
    order.rank = static_cast<std::int32_t>(number);
  else if (name == "world_size")
    order.world_size = static_cast<std::int32_t>(number);
  else if (name == "local_rank")
    order.local_rank = static_cast<std::int32_t>(number);
  else if (name == "port")
    order.port = static_cast<std::uint32_t>(number);
  else if (name == "status_port")
    order.status_port = static_cast<std::uint32_t>(number);
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

// What an earlier version doesn't write stands only where it says something, so that its claims
// still read as they were written.
void add_newer(FieldWriter& out, const WorkerOrder& order) {
  for (const std::uint32_t group : order.groups) out.add("group", group);
  if (order.status_port != 0) out.add("status_port", order.status_port);
  if (!order.status_token.empty()) out.add("status_token", order.status_token);
  if (order.rank != order.key.number) out.add("rank", order.rank);
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

std::string to_text(const WorkerOrder& order, ClaimFormat format) {
  FieldWriter out;
  if (format == ClaimFormat::sealed) out.add(kSealedFirst, kSealedVersion);
  out.add(kPlainFirst, claim_name(order.key));
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
  add_cgroups(out, order.cgroups, format);
  add_newer(out, order);
  if (format == ClaimFormat::sealed) {
    out.add("shm", order.shm);
    if (order.limit) add_limit(out, *order.limit);
    out.add("digest", hex(Digest().add(std::string_view(out.text())).value()));
  } else {
    out.add("end", "");
  }
  return out.text();
}

std::optional<WorkerOrder> parse_order(std::string_view text) {
  const std::vector<NamedField> all = fields(text);
  if (all.empty()) return std::nullopt;
  const auto format = all.front().first == kSealedFirst ? ClaimFormat::sealed : ClaimFormat::plain;
  WorkerOrder order;
  for (const NamedField& field : all) {
    if (field.first == kPlainFirst) {
      order.key = parse_claim_name(field.second).value_or(ProcessKey{});
      order.rank = order.key.number;
    } else if (!read_text(field, order) && !read_cgroups(field, order.cgroups) &&
               !read_limit(field, order.limit))
      read_number(field, order);
  }
  if (order.command.empty() || to_text(order, format) != text) return std::nullopt;
  return order;
}

std::string to_text(const WorkerEnding& ending) {
  FieldWriter out;
  check(may_end_by(ending.cause), "a worker ends by a cause of its own");
  out.add("cause", to_string(ending.cause));
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
    else if (name == "exit_code" && is_small_number(value))
      ending.exit_code = static_cast<std::int32_t>(field_number(value));
    else if (name == "exit_code")
      return std::nullopt;
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

std::string supervisor_name(const ProcessKey& key) {
  return ("pl-" + claim_name(key)).substr(0, kNameMax);
}

// ---- the file ----

ClaimFile::ClaimFile(UniqueFd fd, ProcessKey key) : fd_(std::move(fd)), key_(key) {
  if (!fd_) return;
  const std::string first = std::string(kPlainFirst) + '\0';
  if (read_at(kOrderAt, first.size()) == first) format_ = ClaimFormat::plain;
}

ClaimFile::ClaimFile(UniqueFd fd) : ClaimFile(std::move(fd), {}) {
  const auto written = fd_ ? order() : std::nullopt;
  if (written) key_ = written->key;
}

Result<ClaimFile> ClaimFile::create(const std::string& path, const WorkerOrder& order) {
  ClaimFile claim(UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)),
                  order.key);
  if (!claim) return fail(system_error("The worker's claim '" + path + "' can't be made", errno));
  const std::string text = std::string(kOrderAt, '\0') + to_text(order);
  if (write_all(claim.fd_.get(), text) && claim.lock()) return claim;
  const Error error = system_error("The worker's claim '" + path + "' can't be written", errno);
  ::unlink(path.c_str());
  return fail(error);
}

ClaimFile ClaimFile::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) fd.reset();
  const auto key = parse_claim_name(std::string_view(path).substr(path.rfind('/') + 1));
  return {std::move(fd), key.value_or(ProcessKey{})};
}

bool ClaimFile::is_removed() const {
  struct stat info {};
  return ::fstat(fd_.get(), &info) == 0 && info.st_nlink == 0;
}

bool ClaimFile::lock() const { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0; }

// A part that can't be read may say that somebody has.
bool ClaimFile::begun() const {
  std::string content;
  return !lock() || look(kProcesses, content) == PartState::damaged ||
         processes().supervisor.pid != 0;
}

bool ClaimFile::is_supervised_by(pid_t pid) const {
  const std::string place = "/proc/" + std::to_string(pid);
  struct stat own {};
  if (read_file(place + "/comm") != supervisor_name(key_) + "\n" || ::fstat(fd_.get(), &own) != 0)
    return false;
  for (const std::string& name : list_directory(place + "/fd")) {
    struct stat held {};
    if (::stat((place + "/fd/" + name).c_str(), &held) == 0 && held.st_dev == own.st_dev &&
        held.st_ino == own.st_ino)
      return true;
  }
  return false;
}

std::optional<std::string> ClaimFile::read_at(std::size_t offset, std::size_t size) const {
  std::string text(size, '\0');
  const ssize_t n = ::pread(fd_.get(), text.data(), size, static_cast<off_t>(offset));
  if (n < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(n));
  return text;
}

const ClaimFile::Part& ClaimFile::tail_part() const {
  static_assert(sizeof(TailPosition) + kSealSize <= kTail.size);
  static_assert(sizeof(TailPosition) <= kPlainTail.size);
  return format_ == ClaimFormat::plain ? kPlainTail : kTail;
}

const ClaimFile::Part& ClaimFile::notice_part() const {
  return format_ == ClaimFormat::plain ? kPlainNotice : kNotice;
}

std::uint64_t ClaimFile::seal(const Part& part, std::string_view content) const {
  return Digest().add(claim_name(key_)).add(std::uint64_t{part.at}).add(content).value();
}

// The content without its seal, padded with zeros. In the format without digests a part is what
// stands there.
ClaimFile::PartState ClaimFile::look(const Part& part, std::string& content) const {
  auto stored = read_at(part.at, part.size);
  if (!stored) return PartState::damaged;
  content = std::move(*stored);
  content.resize(part.size, '\0');
  if (content.find_first_not_of('\0') == std::string::npos) return PartState::absent;
  if (format_ == ClaimFormat::plain) return PartState::exact;
  std::uint64_t sealed = 0;
  std::memcpy(&sealed, &content[part.size - kSealSize], kSealSize);
  content.resize(part.size - kSealSize);
  return sealed == seal(part, content) ? PartState::exact : PartState::damaged;
}

std::string ClaimFile::read(const Part& part) const {
  std::string content;
  return look(part, content) == PartState::exact ? content : std::string{};
}

// What can't be written is learnt again or told in other ways; only the order and the supervisor are
// worth failing for.
bool ClaimFile::write(const Part& part, std::string_view content) const {
  std::string text(content);
  if (format_ == ClaimFormat::sealed) {
    text.resize(part.size - kSealSize, '\0');
    const std::uint64_t sealed = seal(part, text);
    text.append(reinterpret_cast<const char*>(&sealed), kSealSize);
  }
  return ::pwrite(fd_.get(), text.data(), text.size(), static_cast<off_t>(part.at)) ==
         static_cast<ssize_t>(text.size());
}

template <class Value>
Value ClaimFile::read_value(const Part& part) const {
  Value value;
  const std::string content = read(part);
  if (content.size() >= sizeof value) std::memcpy(&value, content.data(), sizeof value);
  return value;
}

template <class Value>
std::string_view bytes_of(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

ClaimState ClaimFile::state() const {
  bool begun = false, whole = true;
  for (const Part& part : {tail_part(), notice_part(), kProcesses, kEnding}) {
    std::string content;
    const PartState state = look(part, content);
    begun = begun || state != PartState::absent;
    whole = whole && state != PartState::damaged;
  }
  const auto text = order_text();
  const auto written = text ? parse_order(*text) : std::nullopt;
  if (!written) return begun || !text ? ClaimState::damaged : ClaimState::unfinished;
  if (!whole || written->key != key_) return ClaimState::damaged;
  return format_ == ClaimFormat::sealed ? ClaimState::exact : ClaimState::plain;
}

std::optional<std::string> ClaimFile::order_text() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return std::nullopt;
  const std::size_t end = static_cast<std::size_t>(info.st_size);
  if (end <= kOrderAt || end - kOrderAt > kSmallFileMax) return std::string{};
  return read_at(kOrderAt, end - kOrderAt);
}

std::optional<WorkerOrder> ClaimFile::order() const {
  const auto text = order_text();
  return text ? parse_order(*text) : std::nullopt;
}

WorkerProcesses ClaimFile::processes() const { return read_value<WorkerProcesses>(kProcesses); }

bool ClaimFile::write(const WorkerProcesses& processes) const {
  return write(kProcesses, bytes_of(processes));
}

TailPosition ClaimFile::tail() const { return read_value<TailPosition>(tail_part()); }

void ClaimFile::write(const TailPosition& tail) const { write(tail_part(), bytes_of(tail)); }

bool ClaimFile::noticed() const { return read(notice_part()).starts_with('n'); }

void ClaimFile::write_notice() const { write(notice_part(), "n"); }

std::optional<WorkerEnding> ClaimFile::ending() const { return parse_ending(read(kEnding)); }

void ClaimFile::write(const WorkerEnding& ending) const {
  WorkerEnding bounded = ending;
  bounded.message.resize(std::min(bounded.message.size(), kMessageMax));
  write(kEnding, to_text(bounded));
}

}  // namespace paceline::agent
