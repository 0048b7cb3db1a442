// Control groups: one group per worker under a parent named for the server's directory. With v2
// that is one directory, with v1 one per controller. Groups are made, entered and removed by the
// worker's supervisor; the agent finds the place once and cleans up after a supervisor that was
// killed.
//
//   const Cgroups cgroups = Cgroups::discover("paceline-1f2e3d4c");
//   WorkerGroup group(cgroups.plan("7.2.0", {.cpus = 2, .memory_bytes = 1 << 30}));
//   group.create();
//   bool entered = false;
//   if (group.fork(entered) == 0) { … }   // the child, inside
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace paceline::agent {

struct CgroupLimits {
  double cpus = 0;                          // CPU cores; 0: unlimited
  std::uint64_t memory_bytes = 0;           // 0: unlimited
  std::vector<std::string> denied_devices;  // as the devices controller writes them: "c 195:1 rwm"
  std::uint64_t processes = 0;              // and threads; 0: unlimited
};

// The directories of one worker's group, absolute; empty: that controller is not used. It is data:
// a supervisor reads it from its order, and an agent that starts later cleans up by it.
struct CgroupPlan {
  std::string unified;                              // v2
  std::string freezer, cpu, memory, devices, pids;  // v1
  CgroupLimits limits;
};

// What a process sees of control groups.
struct CgroupView {
  std::string mountinfo;  // the text of /proc/self/mountinfo
  std::string cgroup;     // and of /proc/self/cgroup
  // True if the process may make groups below a directory, and move processes there.
  std::function<bool(const std::string& directory)> may_make_groups;
  // A group of v2 that was set aside for workers, below the mount: "system.slice/jobs.service". Whom
  // its service manager keeps there steps aside. Empty: none.
  std::string set_aside = {};
};

class Cgroups {
 public:
  // Looks for the place where this process may make groups: in the one set aside (PACELINE_CGROUP),
  // else below its own group, else at the top; v2 if that can hold limits by the controllers cpu and
  // memory, else v1. `parent` is the name of the group that will hold all workers.
  static Cgroups discover(const std::string& parent);
  static Cgroups discover(const std::string& parent, const CgroupView& view);

  // Only controllers that `limits` need; the freezer always, because it holds the process tree
  // together.
  [[nodiscard]] CgroupPlan plan(const std::string& worker, const CgroupLimits& limits) const;

  // What this machine does not let us hold, in sentences; empty where everything is enforced.
  [[nodiscard]] std::vector<std::string> not_enforced() const;
  [[nodiscard]] bool limits_devices() const { return !devices_.empty(); }
  // The least bound of memory, in bytes, on the groups that workers' groups are below: of a container, a
  // batch system's job, a service. As it is now; nothing: none is set.
  [[nodiscard]] std::optional<std::uint64_t> memory_bound() const;

 private:
  // The parents; empty: not available.
  std::string unified_, freezer_, cpu_, memory_, devices_, pids_;
  bool unified_counts_ = false;  // processes
  // Where memory is bounded: the group above workers', the top of its hierarchy, the file of the bound.
  std::string bounded_, bounded_top_, bound_file_;
};

// One worker's group. Every call works on what is there: a missing directory is no error.
class WorkerGroup {
 public:
  explicit WorkerGroup(CgroupPlan plan) : plan_(std::move(plan)) {}

  // Makes the directories and writes the limits. Errors: storage, forbidden, with a sentence that
  // names the limit that can't be held.
  [[nodiscard]] Result<void> create() const;
  // As fork(2). In the child, `entered` says whether it is inside; if not, errno says why. REQUIRES: a
  // single-threaded caller; no handlers of pthread_atfork, which may be left out.
  [[nodiscard]] pid_t fork(bool& entered) const;
  // True if the kernel counts the group's processes against the limit.
  [[nodiscard]] bool counts_processes() const;
  // True if every process of the worker is a member.
  [[nodiscard]] bool tracks() const { return !tracker().empty(); }
  [[nodiscard]] std::vector<pid_t> members() const;
  // True once every member stands still. A v1 group that stays half frozen (a process in
  // uninterruptible sleep) is false.
  bool freeze() const;
  void thaw() const;
  // True if the memory limit killed a process of the group.
  [[nodiscard]] bool out_of_memory() const;
  // Removes the directories and, if nobody else is in it, the parent. False while a member is left.
  bool remove() const;

 private:
  [[nodiscard]] bool enter(bool born_inside) const;
  [[nodiscard]] const std::string& tracker() const;
  [[nodiscard]] std::vector<std::string> directories() const;
  [[nodiscard]] Result<void> write_cpu_limit() const;
  [[nodiscard]] Result<void> write_memory_limit() const;
  [[nodiscard]] Result<void> write_process_limit() const;
  void deny_devices() const;

  CgroupPlan plan_;
};

// Where /proc/self/mountinfo and /proc/self/cgroup say that a controller ("freezer", or "" for v2)
// is: the mount point and this process's own directory below it; both empty if it is not mounted.
struct CgroupMount {
  std::string mount_point;
  std::string own;
};
// The pids of a cgroup.procs file. A member outside the reader's pid namespace shows as 0 and is
// left out: a signal to 0 is one to the sender's own group.
std::vector<pid_t> parse_members(std::string_view text);

CgroupMount find_cgroup_mount(std::string_view mountinfo, std::string_view cgroup,
                              std::string_view controller);

}  // namespace paceline::agent
