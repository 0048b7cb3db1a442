#include "wire/agent_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/utf8.hpp"
#include "model/job_spec.hpp"
#include "model/label.hpp"
#include "wire/report.hpp"

namespace paceline {
namespace {

constexpr double kCoresMax = 65'536;
constexpr std::uint64_t kNodeMemoryMax = std::uint64_t{1} << 60;
constexpr std::int32_t kDomainMax = 65'535;  // of islands and NUMA domains
constexpr std::uint32_t kPortsEnd = 65'536;
constexpr std::int64_t kPidMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kExitCodeMax = 255;
// Stores and counters take numbers of reports as signed ones.
constexpr std::uint64_t kReportNumberMax = std::numeric_limits<std::int64_t>::max();
// Sums of such spans and points in time are in range still.
constexpr Duration kSpanMax{std::int64_t{1} << 60};

Result<void> wrong(std::string what) { return fail(ErrorCode::data, std::move(what)); }

Result<void> within(bool holds, std::string_view what) {
  return holds ? Result<void>{} : wrong(fmt::format("{} is out of range", what));
}

Result<void> named(std::string_view what, std::string_view name, std::size_t max) {
  if (name.size() > max)
    return fail(ErrorCode::too_large, fmt::format("{} has at most {} bytes.", what, max));
  return is_visible(name) ? Result<void>{} : wrong(fmt::format("{} has unprintable bytes", what));
}

// The first that fails.
template <class... Checks>
Result<void> all(Checks... checks) {
  Result<void> result;
  static_cast<void>(((result = checks()).has_value() && ...));
  return result;
}

void cut(std::string& text, std::size_t max) {
  if (text.size() <= max) return;
  text.resize(max);
  text.resize(text.size() - utf8_unfinished(text));
}

// Differences of such times are durations still.
Result<void> check_time(Time told) {
  const Time least{-kTimeToldMax.time_since_epoch()};
  return within(least <= told && told <= kTimeToldMax, "a time");
}

Result<void> check_key(const ProcessKey& key) {
  return within(key.job.value >= 1 && key.number >= 0, "the name of a process");
}

Result<void> check_pid(std::int64_t pid, std::int64_t least) {
  return within(least <= pid && pid <= kPidMax, "a process id");
}

// ---- a node ----

Result<void> check_slot(const SlotSpec& slot) {
  const auto domain = [](std::int32_t number) { return 0 <= number && number <= kDomainMax; };
  return all(
      [&] { return named("The model of a slot", slot.model, kDeviceNameMax); },
      [&] { return named("The UUID of a slot", slot.uuid, kDeviceNameMax); },
      [&] { return within(slot.memory_bytes <= kNodeMemoryMax, "the memory of a slot"); },
      [&] { return within(domain(slot.island) && domain(slot.numa), "the domain of a slot"); });
}

Result<void> check_slots(std::vector<SlotSpec>& slots) {
  if (slots.size() > kNodeSlotsMax)
    return fail(ErrorCode::too_large,
                fmt::format("A node has at most {} slots, not {}.", kNodeSlotsMax, slots.size()));
  for (SlotSpec& slot : slots) {
    if (auto ok = check_slot(slot); !ok) return ok;
    cut(slot.note, kSlotNoteMax);
  }
  return {};
}

Result<void> check_users(const NodeSpec& node) {
  if (node.strangers.size() > kStrangersMax)
    return fail(ErrorCode::too_large,
                fmt::format("A node names at most {} users without an account.", kStrangersMax));
  if (!std::ranges::is_sorted(node.strangers)) return wrong("users are not in order");
  for (const std::string& user : node.strangers)
    if (auto ok = named("The name of a user", user, kUserNameMax); !ok) return ok;
  return named("The name of a user", node.only_user, kUserNameMax);
}

Result<void> check_refusal(const NodeSpec& node) {
  if (!node.refusal) return {};
  if (node.refusal->why.size() > kRefusalWhyMax)
    return fail(ErrorCode::too_large, "The reason of a node's refusal has at most 1 KiB.");
  return check_time(node.refusal->until);
}

Result<void> check_resources(const NodeSpec& node) {
  const bool cores = std::isfinite(node.cpus) && 0 <= node.cpus && node.cpus <= kCoresMax;
  const auto sound = [](const PortRange& p) { return p.first <= p.end && p.end <= kPortsEnd; };
  const bool lease = !node.lease || (kLeaseMin <= *node.lease && *node.lease <= kLeaseMax);
  return all([&] { return within(cores, "the number of cores"); },
             [&] { return within(lease, "a lease"); },
             [&] { return within(node.memory_bytes <= kNodeMemoryMax, "the memory of a node"); },
             [&] { return within(!node.ports || sound(*node.ports), "the range of ports"); });
}

Result<void> check_reach(const NodeSpec& node) {
  return all([&] { return within(node.reach_port < kPortsEnd, "a port"); },
             [&] { return named("What a node is known by", node.reach_nonce, kReachNonceMax); });
}

Result<void> check_place(const NodeSpec& node) {
  if (node.machine.size() > kMachineMax)
    return fail(ErrorCode::too_large, "A machine's identity has at most 64 characters.");
  return all([&] { return named("A machine's identity", node.machine, kMachineMax); },
             [&] { return named("The name of a node", node.name, kNodeNameMax); },
             [&] { return node.address.empty() ? Result<void>{} : validate_address(node.address); },
             [&] { return validate_labels(node.labels); },
             [&] { return validate_place("rack", node.rack); },
             [&] { return validate_place("switch", node.network_switch); });
}

Result<void> check_node(NodeSpec& node) {
  if (node.name.empty()) return wrong("a node has no name");
  return all([&] { return check_place(node); }, [&] { return check_refusal(node); },
             [&] { return check_users(node); }, [&] { return check_resources(node); },
             [&] { return check_reach(node); }, [&] { return check_slots(node.slots); });
}

// ---- its workers ----

// Which slots it names may be more than the node has by now: a device may have gone.
Result<void> check_claim(const Claim& claim) {
  const auto beyond = [](std::uint32_t slot) { return slot >= kNodeSlotsMax; };
  const bool slots =
      claim.slots.size() <= kNodeSlotsMax && std::ranges::none_of(claim.slots, beyond);
  return all([&] { return check_key(claim.key); }, [&] { return check_pid(claim.pid, 0); },
             [&] { return within(slots, "a slot of a claim"); },
             [&] { return within(!claim.gone, "the end of a claim"); });
}

// Others only the server gives.
bool may_end_by(Cause cause) {
  switch (cause) {
    case Cause::exited:
    case Cause::signalled:
    case Cause::out_of_memory:
    case Cause::launch_failed:
    case Cause::setup_failed:
    case Cause::timed_out:
    case Cause::node_lost:
    case Cause::refused:
    case Cause::missing:
      return true;
    default:
      return false;
  }
}

// ---- reports ----

Result<void> check_count(const std::optional<std::uint64_t>& count) {
  return within(!count || *count <= kReportCountMax, "a count");
}

// Nothing can be compared with it.
void drop_odd(std::optional<double>& number) {
  if (number && !std::isfinite(*number)) number.reset();
}

Result<void> check_metrics(std::map<std::string, double>& metrics) {
  if (metrics.size() > kMetricsMax)
    return fail(ErrorCode::too_large, fmt::format("A report may hold {} metrics.", kMetricsMax));
  for (const auto& [name, value] : metrics) {
    if (name.empty()) return wrong("a metric has no name");
    if (auto ok = named("The name of a metric", name, kMetricNameMax); !ok) return ok;
  }
  std::erase_if(metrics, [](const auto& metric) { return !std::isfinite(metric.second); });
  return {};
}

Result<void> check_resume(const std::optional<ResumeAudit>& resume) {
  return within(!resume || (is_visible(resume->text) && resume->text.size() <= kResumeTextMax),
                "the text of a resume audit");
}

Result<void> check_path(std::string_view of, const std::string& path) {
  if (path.size() > kReportedPathMax)
    return fail(ErrorCode::too_large,
                fmt::format("The path of a {} has at most {} bytes.", of, kReportedPathMax));
  const bool sound = path.starts_with('/') && path.find('\0') == std::string::npos;
  return sound ? Result<void>{} : wrong(fmt::format("the path of a {} is not absolute", of));
}

Result<void> check_inside(const std::string& path) {
  if (path.empty() || !path_inside(path).empty()) return {};
  return wrong("the path of a checkpoint leads out of its directory");
}

Result<void> check_report_number(std::uint64_t number) {
  return within(number <= kReportNumberMax, "the number of a report");
}

// ---- an agent's messages ----

Result<void> hold(Hello& hello) {
  if (auto ok = check_node(hello.node); !ok) return ok;
  if (auto ok = named("The boot id", hello.boot_id, kBootIdMax); !ok) return ok;
  if (hello.claims.size() > kClaimsMax)
    return fail(ErrorCode::too_large, fmt::format("A node has at most {} claims.", kClaimsMax));
  for (const Claim& claim : hello.claims)
    if (auto ok = check_claim(claim); !ok) return ok;
  return {};
}

Result<void> hold(NodeChanged& changed) { return check_node(changed.node); }

Result<void> hold(WorkerRuns& runs) {
  return all([&] { return check_key(runs.key); }, [&] { return check_pid(runs.pid, 1); });
}

Result<void> hold(WorkerReport& report) {
  for (auto* number :
       {&report.epoch, &report.total_epochs, &report.step_seconds, &report.learning_rate})
    drop_odd(*number);
  return all(
      [&] { return check_key(report.key); }, [&] { return check_time(report.at); },
      [&] { return check_report_number(report.report); }, [&] { return check_count(report.step); },
      [&] { return check_count(report.total_steps); }, [&] { return check_count(report.samples); },
      [&] { return check_count(report.position); }, [&] { return check_metrics(report.metrics); },
      [&] { return check_resume(report.resume); });
}

Result<void> hold(CheckpointSeen& seen) {
  if (seen.path.size() > kReportedPathMax) seen.path.clear();
  seen.inside = path_inside(seen.inside);
  return all(
      [&] { return check_key(seen.key); }, [&] { return check_time(seen.at); },
      [&] { return check_report_number(seen.report); },
      [&] { return seen.path.empty() ? Result<void>{} : check_path("checkpoint", seen.path); },
      [&] { return check_count(seen.step); }, [&] { return check_count(seen.samples); });
}

Result<void> hold(ModelSeen& seen) {
  return all([&] { return check_key(seen.key); }, [&] { return check_time(seen.at); },
             [&] { return check_report_number(seen.report); },
             [&] { return check_path("model", seen.path); },
             [&] {
               return within(seen.sha256.empty() || is_sha256(seen.sha256),
                             "the digest of a model");
             },
             [&] { return check_count(seen.bytes); }, [&] { return check_count(seen.step); },
             [&] { return check_count(seen.samples); });
}

Result<void> hold(WorkerGone& gone) {
  cut(gone.message, kEndMessageMax);
  const bool code = !gone.exit_code || (0 <= *gone.exit_code && *gone.exit_code <= kExitCodeMax);
  const bool signal = 0 <= gone.signal && gone.signal <= kSignalMax;
  return all([&] { return check_key(gone.key); }, [&] { return check_time(gone.at); },
             [&] { return within(may_end_by(gone.cause), "the cause of an end"); },
             [&] { return within(code, "an exit code"); },
             [&] { return within(signal, "the number of a signal"); });
}

Result<void> hold(WorkerWarning& warned) { return check_key(warned.key); }

Result<void> hold(WorkerPlaced& placed) { return check_key(placed.key); }

// ---- a server's ----

Result<void> check_span(Duration span) {
  return within(Duration::zero() <= span && span <= kSpanMax, "a span of time");
}

Result<void> check_signal(std::int32_t signal) {
  return within(1 <= signal && signal <= kSignalMax, "the number of a signal");
}

Result<void> hold(const RunLimit& limit) {
  return all([&] { return check_signal(limit.signal); }, [&] { return check_span(limit.left); },
             [&] { return check_span(limit.grace); });
}

Result<void> hold(const StartWorker& start) {
  const WorkerLaunch& worker = start.worker;
  const bool rank = 0 <= worker.rank && worker.rank < worker.world_size;
  const auto beyond = [](std::uint32_t slot) { return slot >= kNodeSlotsMax; };
  const auto is_door = [](const GangPeer& peer) { return 0 < peer.port && peer.port < kPortsEnd; };
  return all([&] { return check_key(worker.key); }, [&] { return within(rank, "a rank"); },
             [&] { return within(std::ranges::none_of(worker.slots, beyond), "a slot"); },
             [&] { return within(worker.peers.size() <= kPeersMax, "the number of peers"); },
             [&] { return within(std::ranges::all_of(worker.peers, is_door), "a port"); },
             [&] { return worker.copy ? check_inside(worker.copy->inside) : Result<void>{}; },
             [&] { return worker.limit ? hold(*worker.limit) : Result<void>{}; },
             [&] { return worker.lease ? hold(*worker.lease) : Result<void>{}; });
}

Result<void> hold(const StopWorker& stop) {
  return all([&] { return check_key(stop.key); }, [&] { return check_signal(stop.signal); },
             [&] { return check_span(stop.grace); });
}

Result<void> hold(const LimitWorker& limited) {
  return all([&] { return check_key(limited.key); }, [&] { return hold(limited.limit); });
}

Result<void> hold(const EnrolWorker& enrolled) {
  const Membership& its = enrolled.membership;
  return all([&] { return check_key(enrolled.key); },
             [&] { return within(0 <= its.rank && its.rank < its.world_size, "a rank"); });
}

Result<void> hold(const LeaveGang& leave) {
  return all([&] { return check_key(leave.key); }, [&] { return check_span(leave.grace); });
}

Result<void> hold(const KeepCheckpoint& keep) {
  return all([&] { return check_key(keep.checkpoint.key); },
             [&] { return check_path("checkpoint", keep.checkpoint.path); });
}

Result<void> hold(const FenceJob& fence) { return within(fence.job.value >= 1, "a job"); }

Result<void> hold(const auto& other) { return check_key(other.key); }

}  // namespace

std::string path_inside(const std::string& told) {
  if (told.empty() || told.find('\0') != std::string::npos) return {};
  const auto path = std::filesystem::path(told).lexically_normal();
  const bool leads_out = path.is_absolute() || path == "." || *path.begin() == "..";
  return leads_out || path.native().size() >= kReportedPathMax ? "" : path.native();
}

Result<void> hold_to_bounds(AgentMessage& message) {
  return std::visit([](auto& each) { return hold(each); }, message);
}

Result<void> hold_to_bounds(const ServerMessage& message) {
  return std::visit([](const auto& each) { return hold(each); }, message);
}

}  // namespace paceline
