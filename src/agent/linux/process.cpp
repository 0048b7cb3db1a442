#include "agent/linux/process.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <set>

#include "agent/linux/claim.hpp"
#include "agent/linux/files.hpp"
#include "agent/linux/process_environments.hpp"
#include "agent/wants.hpp"
#include "base/number.hpp"

namespace paceline::agent {
namespace {

constexpr std::size_t kAncestorsMax = 4096;
constexpr std::uint64_t kForkedOnly = 0x40;  // PF_FORKNOEXEC of the kernel
constexpr int kSearchShare = 10;  // of the time, that all fruitless searches together take one of

std::string proc_path(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

// The children of every process of the machine: the fallback where the kernel keeps no lists of
// children.
std::multimap<pid_t, pid_t> children_of_all() {
  std::multimap<pid_t, pid_t> parents;
  for (const pid_t pid : all_pids())
    if (const auto stat = read_stat(pid)) parents.emplace(stat->parent, pid);
  return parents;
}

void append_children(pid_t parent, const std::multimap<pid_t, pid_t>& parents,
                     std::vector<pid_t>& found) {
  const auto [begin, end] = parents.equal_range(parent);
  for (auto it = begin; it != end; ++it) found.push_back(it->second);
}

// The children of every thread of `pid`, from the kernel's own lists.
void append_listed_children(pid_t pid, std::vector<pid_t>& found) {
  const std::string tasks = proc_path(pid, "task");
  for (const std::string& task : list_directory(tasks)) {
    const auto text = read_file(tasks + "/" + task + "/children");
    if (!text) continue;
    std::size_t at = 0;
    while (at < text->size()) {
      const std::size_t end = std::min(text->find(' ', at), text->size());
      if (const auto child = parse_number<pid_t>(std::string_view(*text).substr(at, end - at)))
        found.push_back(*child);
      at = end + 1;
    }
  }
}

bool kernel_lists_children() {
  static const bool answer = read_file("/proc/thread-self/children").has_value();
  return answer;
}

bool runs(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

class MarkSearches {
 public:
  MarkedProcesses look(const std::string& marker) {
    const auto began = std::chrono::steady_clock::now();
    std::erase_if(paused_, [&](const auto& each) { return each.second <= began; });
    if (paused_.contains(marker)) return {};
    silent_ = false;
    MarkedProcesses found = search(marker);
    const auto now = std::chrono::steady_clock::now();
    const auto share = kSearchShare * static_cast<int>(paused_.size() + 1);
    if (silent_ && found.pids.empty()) paused_.emplace(marker, now + share * (now - began));
    return found;
  }

 private:
  MarkedProcesses search(std::string_view marker) {
    const std::vector<pid_t> pids = all_pids();
    std::set<pid_t> found;
    bool lacks = pids.empty();
    const auto take = [&](pid_t pid, const MemoryFile& environment) {
      if (environment.error == ETIMEDOUT && runs(pid)) silent_ = true;
      if (find_want(environment.error) != nullptr) lacks = true;
      if (!has_environment_entry(environment.text, marker) || !runs(pid)) return;
      found.insert(pid);
      for (const pid_t child : descendants(pid))
        if (runs(child)) found.insert(child);
    };
    if (!environments_.read(pids, take)) lacks = true;
    return {{found.begin(), found.end()}, !lacks && !silent_};
  }

  ProcessEnvironments environments_;
  std::map<std::string, std::chrono::steady_clock::time_point> paused_;  // until then
  bool silent_ = false;
};

}  // namespace

std::optional<ProcessStat> parse_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 4 > text.size()) return std::nullopt;
  std::string_view rest = text.substr(name_end + 2);
  std::vector<std::string_view> fields;
  while (!rest.empty() && fields.size() < 20) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (fields.size() < 20) return std::nullopt;
  const auto parent = parse_number<pid_t>(fields[1]);
  const auto flags = parse_number<std::uint64_t>(fields[6]);
  const auto start = parse_number<std::uint64_t>(fields[19]);
  if (fields[0].empty() || !parent || !flags || !start) return std::nullopt;
  return ProcessStat{fields[0][0], *parent, *start, (*flags & kForkedOnly) == 0};
}

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto text = read_file(proc_path(pid, "stat"));
  if (!text) return std::nullopt;
  return parse_stat(*text);
}

ProcessId identify(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? ProcessId{pid, stat->start_time} : ProcessId{};
}

bool is_alive(const ProcessId& process) {
  if (process.pid <= 0) return false;
  const auto stat = read_stat(process.pid);
  return stat && stat->start_time == process.start_time && stat->state != 'Z' && stat->state != 'X';
}

Result<std::string> read_boot_id() {
  auto id = read_file("/proc/sys/kernel/random/boot_id");
  if (!id && errno == ENOENT) return "unknown";
  if (!id) return fail(system_error("The machine's boot can't be identified", errno));
  while (!id->empty() && id->back() == '\n') id->pop_back();
  return *id;
}

std::vector<pid_t> children(pid_t parent) {
  std::vector<pid_t> found;
  if (kernel_lists_children())
    append_listed_children(parent, found);
  else
    append_children(parent, children_of_all(), found);
  return found;
}

std::vector<pid_t> descendants(pid_t root) {
  const bool listed = kernel_lists_children();
  const auto parents = listed ? std::multimap<pid_t, pid_t>{} : children_of_all();
  std::vector<pid_t> found;
  std::set<pid_t> seen{root};
  std::vector<pid_t> next{root};
  while (!next.empty()) {
    const pid_t parent = next.back();
    next.pop_back();
    std::vector<pid_t> here;
    if (listed)
      append_listed_children(parent, here);
    else
      append_children(parent, parents, here);
    for (const pid_t child : here)
      if (seen.insert(child).second) {
        found.push_back(child);
        next.push_back(child);
      }
  }
  return found;
}

bool has_environment_entry(std::string_view environ, std::string_view entry) {
  if (entry.empty()) return false;
  std::size_t at = environ.find(entry);
  while (at != std::string_view::npos) {
    const std::size_t end = at + entry.size();
    const bool begins = at == 0 || environ[at - 1] == '\0';
    const bool ends = end == environ.size() || environ[end] == '\0';
    if (begins && ends) return true;
    at = environ.find(entry, at + 1);
  }
  return false;
}

std::vector<pid_t> ancestors() {
  std::vector<pid_t> found;
  for (pid_t pid = ::getppid(); pid > 0 && found.size() < kAncestorsMax;) {
    found.push_back(pid);
    const auto stat = read_stat(pid);
    pid = stat ? stat->parent : 0;
  }
  return found;
}

// PACELINE_WORKER=7.2.0@/directory/agent/workers/7.2.0, and an identity behind it.
bool is_marker(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  const std::size_t at = entry.find("@/");
  if (equals == std::string_view::npos || at == std::string_view::npos || at < equals) return false;
  const std::string_view name = entry.substr(equals + 1, at - equals - 1);
  return entry.substr(0, equals) == kMarkerName && parse_claim_name(name) &&
         entry.substr(at).find("/" + std::string(name)) != std::string_view::npos;
}

MarkedProcesses marked_processes(std::string_view marker) {
  thread_local MarkSearches searches;
  if (!is_marker(marker)) return {{}, true};
  return searches.look(std::string(marker));
}

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  for (const std::string& name : list_directory("/proc"))
    if (const auto pid = parse_number<pid_t>(name)) pids.push_back(*pid);
  return pids;
}

Duration since_boot_asleep_too() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::duration_cast<Duration>(std::chrono::seconds{now.tv_sec} +
                                              std::chrono::nanoseconds{now.tv_nsec});
}

Duration since_boot() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace paceline::agent
