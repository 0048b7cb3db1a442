#include "agent/linux/cgroups.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "agent/linux/files.hpp"
#include "files/fd.hpp"

namespace paceline::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGroupsAtOnce = 1'000;
constexpr std::int64_t kPeriodUs = 100'000;
constexpr std::int64_t kQuotaUsMin = 1'000;
constexpr int kFreezePolls = 50;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool lists(std::string_view list, char separator, std::string_view word) {
  const auto parts = split(list, separator);
  return std::find(parts.begin(), parts.end(), word) != parts.end();
}

// This process's path in the hierarchy of a controller, as /proc/self/cgroup tells it.
std::string own_path(std::string_view cgroup, std::string_view controller) {
  for (const std::string_view line : split(cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool here =
        controller.empty() ? controllers.empty() : lists(controllers, ',', controller);
    if (here) return std::string(line.substr(second + 1));
  }
  return "/";
}

// The path of `own` below a mount that shows the hierarchy from `root` on.
std::string below(const std::string& mount_point, std::string_view root, std::string own) {
  const std::string top = root == "/" ? "" : std::string(root);
  if (!(own + "/").starts_with(top + "/")) return mount_point;
  own.erase(0, top.size());
  if (own.empty() || own == "/" || own.find("/..") != std::string::npos) return mount_point;
  return mount_point + own;
}

bool can_make_groups(const std::string& directory) {
  const std::string probe = directory + "/paceline-probe-" + std::to_string(::getpid());
  if (::mkdir(probe.c_str(), 0755) != 0) return false;
  const bool writable = ::access((probe + "/cgroup.procs").c_str(), W_OK) == 0;
  ::rmdir(probe.c_str());
  return writable;
}

// Where the process may make groups, the best place first.
std::vector<std::string> usable_places(const CgroupView& view, std::string_view controller) {
  const CgroupMount mount = find_cgroup_mount(view.mountinfo, view.cgroup, controller);
  std::vector<std::string> places;
  if (!mount.mount_point.empty() && view.may_make_groups(mount.own)) places.push_back(mount.own);
  if (mount.own != mount.mount_point && view.may_make_groups(mount.mount_point))
    places.push_back(mount.mount_point);
  return places;
}

bool has_controller(const std::string& directory, const char* file, std::string_view controller) {
  std::string text = read_file(directory + "/" + file).value_or("");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return lists(text, ' ', controller);
}

bool has_controllers(const std::string& directory, const char* file) {
  return has_controller(directory, file, "cpu") && has_controller(directory, file, "memory");
}

// Processes are counted where that can be had.
bool hand_down(const std::string& directory) {
  const std::string knob = directory + "/cgroup.subtree_control";
  if (!has_controllers(directory, "cgroup.subtree_control") &&
      !write_existing(knob, "+cpu +memory"))
    return false;
  if (!has_controller(directory, "cgroup.subtree_control", "pids")) write_existing(knob, "+pids");
  return true;
}

// A v2 group with members of its own can't hand controllers down: they move into a leaf.
void empty_into_leaf(const std::string& directory) {
  const std::string leaf = directory + "/paceline-server";
  ::mkdir(leaf.c_str(), 0755);
  for (const pid_t member : parse_members(read_file(directory + "/cgroup.procs").value_or("")))
    write_existing(leaf + "/cgroup.procs", std::to_string(member));
}

// Where this process is the only member (a delegated scope or unit).
void step_aside(const std::string& directory) {
  if (read_file(directory + "/cgroup.procs") == std::to_string(::getpid()) + "\n")
    empty_into_leaf(directory);
}

// Empty: none is, or it can't be used.
std::string set_aside(const CgroupView& view) {
  const CgroupMount mount = find_cgroup_mount(view.mountinfo, view.cgroup, "");
  if (view.set_aside.empty() || mount.mount_point.empty()) return {};
  const std::string place = mount.mount_point + "/" + view.set_aside;
  if (!view.may_make_groups(place) || !has_controllers(place, "cgroup.controllers")) return {};
  empty_into_leaf(place);
  return hand_down(place) ? place : std::string{};
}

// The v2 directory below which groups can hold cpu and memory limits; empty: none. A group with
// other members than this process may lie on the way to the top.
std::string usable_unified(const CgroupView& view) {
  if (std::string place = set_aside(view); !place.empty()) return place;
  for (const std::string& place : usable_places(view, "")) {
    if (!has_controllers(place, "cgroup.controllers")) continue;
    if (hand_down(place)) return place;
    step_aside(place);
    if (hand_down(place)) return place;
  }
  return {};
}

void nap() {
  const timespec span{0, 1'000'000};
  ::nanosleep(&span, nullptr);
}

// To be read by the worker, whose libraries look for its limits there; whatever the umask is.
bool make_readable(const std::string& directory) {
  return ::mkdir(directory.c_str(), 0755) == 0 && ::chmod(directory.c_str(), 0755) == 0;
}

// A parent that becomes empty may be removed by another supervisor at any moment, so both are made
// again until the group stands.
bool make_group(const std::string& directory) {
  const std::string parent = directory.substr(0, directory.rfind('/'));
  for (int i = 0; i < 16; ++i) {
    if (make_readable(directory) || errno == EEXIST) return true;
    if (errno != ENOENT || (!make_readable(parent) && errno != EEXIST)) return false;
  }
  return false;
}

// Those that the worker made inside its own, each before the one that it lies in.
std::vector<std::string> groups_inside(const std::string& directory) {
  std::vector<std::string> groups;
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(directory, kOptions, error), end;
       !error && it != end && groups.size() < kGroupsAtOnce; it.increment(error))
    if (it->is_directory(error) && !it->is_symlink(error)) groups.push_back(it->path().string());
  std::ranges::reverse(groups);
  return groups;
}

bool remove_group(const std::string& directory) {
  for (const std::string& inside : groups_inside(directory)) ::rmdir(inside.c_str());
  if (::rmdir(directory.c_str()) != 0 && errno != ENOENT) return false;
  ::rmdir(directory.substr(0, directory.rfind('/')).c_str());
  return true;
}

// -1: this kernel can't, or lets nobody do so here.
pid_t fork_into(const std::string& unified) {
  const UniqueFd group(::open(unified.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!group) return -1;
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<unsigned>(group.get());
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

std::string in_parent(const std::string& parent, const std::string& worker) {
  return parent.empty() ? std::string{} : parent + "/" + worker;
}

}  // namespace

CgroupMount find_cgroup_mount(std::string_view mountinfo, std::string_view cgroup,
                              std::string_view controller) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    const std::string_view type = dash[1];
    const bool here = controller.empty() ? type == "cgroup2"
                                         : type == "cgroup" && lists(dash[3], ',', controller);
    if (!here) continue;
    const std::string mount_point(fields[4]);
    return {mount_point, below(mount_point, fields[3], own_path(cgroup, controller))};
  }
  return {};
}

Cgroups Cgroups::discover(const std::string& parent) {
  const char* named = std::getenv("PACELINE_CGROUP");
  return discover(parent, {read_file("/proc/self/mountinfo").value_or(""),
                           read_file("/proc/self/cgroup").value_or(""), can_make_groups,
                           named == nullptr ? "" : named});
}

Cgroups Cgroups::discover(const std::string& parent, const CgroupView& view) {
  Cgroups found;
  const auto bounded_at = [&](std::string_view controller, const char* file) {
    const auto mount = find_cgroup_mount(view.mountinfo, view.cgroup, controller);
    if (mount.mount_point.empty()) return;
    found.bounded_ = mount.own;
    found.bounded_top_ = mount.mount_point;
    found.bound_file_ = file;
  };
  bounded_at("", "memory.max");
  if (const std::string unified = usable_unified(view); !unified.empty()) {
    found.bounded_ = unified;
    found.unified_ = in_parent(unified, parent);
    found.unified_counts_ = has_controller(unified, "cgroup.subtree_control", "pids");
    return found;
  }
  bounded_at("memory", "memory.limit_in_bytes");
  const auto v1 = [&](std::string_view controller) {
    const auto places = usable_places(view, controller);
    return places.empty() ? std::string{} : in_parent(places.front(), parent);
  };
  found.freezer_ = v1("freezer");
  found.cpu_ = v1("cpu");
  found.memory_ = v1("memory");
  found.devices_ = v1("devices");
  found.pids_ = v1("pids");
  if (!found.memory_.empty()) found.bounded_ = found.memory_.substr(0, found.memory_.rfind('/'));
  return found;
}

std::optional<std::uint64_t> Cgroups::memory_bound() const {
  std::optional<std::uint64_t> least;
  for (std::string place = bounded_; place.size() >= bounded_top_.size() && !place.empty();
       place.erase(place.rfind('/'))) {
    const auto text = read_file(place + "/" + bound_file_).value_or("");
    std::uint64_t bytes = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (read.ec == std::errc{}) least = std::min(least.value_or(bytes), bytes);  // "max" is none
  }
  return least;
}

CgroupPlan Cgroups::plan(const std::string& worker, const CgroupLimits& limits) const {
  CgroupPlan plan;
  plan.limits = limits;
  plan.unified = in_parent(unified_, worker);
  plan.freezer = in_parent(freezer_, worker);
  if (limits.cpus > 0) plan.cpu = in_parent(cpu_, worker);
  if (limits.memory_bytes > 0) plan.memory = in_parent(memory_, worker);
  if (!limits.denied_devices.empty()) plan.devices = in_parent(devices_, worker);
  if (limits.processes > 0) plan.pids = in_parent(pids_, worker);
  return plan;
}

std::vector<std::string> Cgroups::not_enforced() const {
  std::vector<std::string> sentences;
  if (pids_.empty() && !unified_counts_)
    sentences.emplace_back(
        "The processes of a worker are not counted: no writable pids control group, so only those "
        "of users other than root are limited, by user.");
  if (!unified_.empty()) return sentences;
  if (cpu_.empty())
    sentences.emplace_back("CPU limits are not enforced: no writable cpu control group.");
  if (memory_.empty())
    sentences.emplace_back("Memory limits are not enforced: no writable memory control group.");
  if (freezer_.empty())
    sentences.emplace_back(
        "Workers are frozen by signals: no writable freezer control group, so a script can "
        "notice.");
  return sentences;
}

const std::string& WorkerGroup::tracker() const {
  return plan_.unified.empty() ? plan_.freezer : plan_.unified;
}

std::vector<std::string> WorkerGroup::directories() const {
  std::vector<std::string> all;
  for (const auto* directory :
       {&plan_.unified, &plan_.freezer, &plan_.cpu, &plan_.memory, &plan_.devices, &plan_.pids})
    if (!directory->empty()) all.push_back(*directory);
  return all;
}

Result<void> WorkerGroup::create() const {
  for (const std::string& directory : directories())
    if (!make_group(directory)) return fail(system_error("Can't make the control group", errno));
  if (!plan_.unified.empty()) {
    const std::string parent = plan_.unified.substr(0, plan_.unified.rfind('/'));
    hand_down(parent);
  }
  if (auto held = write_cpu_limit(); !held) return held;
  if (auto held = write_memory_limit(); !held) return held;
  if (auto held = write_process_limit(); !held) return held;
  deny_devices();
  return {};
}

Result<void> WorkerGroup::write_cpu_limit() const {
  if (plan_.limits.cpus <= 0 || (plan_.unified.empty() && plan_.cpu.empty())) return {};
  const auto wanted = std::llround(plan_.limits.cpus * static_cast<double>(kPeriodUs));
  const std::string quota = std::to_string(std::max<std::int64_t>(wanted, kQuotaUsMin));
  const bool held = plan_.unified.empty() ? write_existing(plan_.cpu + "/cpu.cfs_quota_us", quota)
                                          : write_existing(plan_.unified + "/cpu.max",
                                                           quota + " " + std::to_string(kPeriodUs));
  if (!held) return fail(system_error("Can't set the CPU limit", errno));
  return {};
}

Result<void> WorkerGroup::write_memory_limit() const {
  if (plan_.limits.memory_bytes == 0 || (plan_.unified.empty() && plan_.memory.empty())) return {};
  const std::string bytes = std::to_string(plan_.limits.memory_bytes);
  const bool v2 = !plan_.unified.empty();
  const bool held = v2 ? write_existing(plan_.unified + "/memory.max", bytes)
                       : write_existing(plan_.memory + "/memory.limit_in_bytes", bytes);
  if (!held) return fail(system_error("Can't set the memory limit", errno));
  // Swap would only stretch the same end; not every kernel accounts for it.
  if (v2)
    write_existing(plan_.unified + "/memory.swap.max", "0");
  else
    write_existing(plan_.memory + "/memory.memsw.limit_in_bytes", bytes);
  return {};
}

bool WorkerGroup::counts_processes() const {
  const std::string& directory = plan_.unified.empty() ? plan_.pids : plan_.unified;
  return !directory.empty() && ::access((directory + "/pids.max").c_str(), F_OK) == 0;
}

Result<void> WorkerGroup::write_process_limit() const {
  if (plan_.limits.processes == 0 || !counts_processes()) return {};
  const std::string& directory = plan_.unified.empty() ? plan_.pids : plan_.unified;
  if (!write_existing(directory + "/pids.max", std::to_string(plan_.limits.processes)))
    return fail(system_error("Can't set the limit of processes", errno));
  return {};
}

void WorkerGroup::deny_devices() const {
  if (plan_.devices.empty()) return;
  for (const std::string& device : plan_.limits.denied_devices)
    write_existing(plan_.devices + "/devices.deny", device);
}

// To move a process, the kernel waits until none forks or ends, for 10 ms and more. It doesn't wait where a
// process is born in a group of v2, nor to move the calling thread, as v1 allows: there is no other.
pid_t WorkerGroup::fork(bool& entered) const {
  pid_t child = plan_.unified.empty() ? -1 : fork_into(plan_.unified);
  const bool born_inside = child >= 0;
  if (!born_inside) child = ::fork();
  if (child == 0) entered = enter(born_inside);
  return child;
}

bool WorkerGroup::enter(bool born_inside) const {
  bool entered = true;
  for (const std::string& directory : directories()) {
    const bool v1 = directory != plan_.unified;
    if (!v1 && born_inside) continue;
    entered = write_existing(directory + (v1 ? "/tasks" : "/cgroup.procs"), "0") && entered;
  }
  return entered;
}

std::vector<pid_t> parse_members(std::string_view text) {
  std::vector<pid_t> pids;
  for (const std::string_view line : split(text, '\n')) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
    if (error == std::errc{} && end == line.data() + line.size() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

// One that moves meanwhile may be listed twice.
std::vector<pid_t> WorkerGroup::members() const {
  if (!tracks()) return {};
  auto groups = groups_inside(tracker());
  groups.push_back(tracker());
  std::vector<pid_t> all;
  for (const std::string& group : groups)
    std::ranges::copy(parse_members(read_file(group + "/cgroup.procs").value_or("")),
                      std::back_inserter(all));
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool WorkerGroup::freeze() const {
  if (!tracks()) return false;
  const bool v2 = !plan_.unified.empty();
  if (!(v2 ? write_existing(plan_.unified + "/cgroup.freeze", "1")
           : write_existing(plan_.freezer + "/freezer.state", "FROZEN")))
    return false;
  for (int i = 0; i < kFreezePolls; ++i) {
    const std::string state =
        read_file(v2 ? plan_.unified + "/cgroup.events" : plan_.freezer + "/freezer.state")
            .value_or("");
    if (state.find(v2 ? "frozen 1" : "FROZEN") != std::string::npos) return true;
    nap();
  }
  return false;
}

void WorkerGroup::thaw() const {
  if (!plan_.unified.empty())
    write_existing(plan_.unified + "/cgroup.freeze", "0");
  else if (!plan_.freezer.empty())
    write_existing(plan_.freezer + "/freezer.state", "THAWED");
}

bool WorkerGroup::out_of_memory() const {
  const std::string& directory = plan_.unified.empty() ? plan_.memory : plan_.unified;
  if (directory.empty()) return false;
  const std::string text =
      read_file(directory + (plan_.unified.empty() ? "/memory.oom_control" : "/memory.events"))
          .value_or("");
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("oom_kill ")) return line != "oom_kill 0";
  return false;
}

bool WorkerGroup::remove() const {
  bool removed = true;
  for (const std::string& directory : directories()) removed = remove_group(directory) && removed;
  return removed;
}

}  // namespace paceline::agent
