// Processes as /proc shows them. A pid alone names nobody for long: a process is known by pid and
// start time, and both only until the next boot.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline::agent {

struct ProcessId {
  pid_t pid = 0;                 // 0: nobody
  std::uint64_t start_time = 0;  // clock ticks after boot: field 22 of /proc/PID/stat
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

struct ProcessStat {
  char state = '?';  // as in /proc/PID/stat; 'Z' and 'X' run no more
  pid_t parent = 0;
  std::uint64_t start_time = 0;
  bool runs_own_program = true;  // false: a copy of its parent, that of a shell's bracketed part
};

// Reads the text of /proc/PID/stat; a command name may hold anything, blanks and brackets too.
std::optional<ProcessStat> parse_stat(std::string_view text);
std::optional<ProcessStat> read_stat(pid_t pid);

ProcessId identify(pid_t pid);
// False for a zombie, and for another process that got the pid later.
bool is_alive(const ProcessId& process);

// Changes with every boot of the machine. Errors: storage.
Result<std::string> read_boot_id();

std::vector<pid_t> children(pid_t parent);

// Every living descendant of `root`, parents before children, without `root` itself.
std::vector<pid_t> descendants(pid_t root);

// The parent of the calling process, its parent, and so on.
std::vector<pid_t> ancestors();

struct MarkedProcesses {
  std::vector<pid_t> pids;
  bool all = false;  // false: there may be more

  [[nodiscard]] bool nobody() const { return all && pids.empty(); }
};

// Every process (zombies aside) whose environment holds `marker` as one whole entry, with all its
// descendants; nobody for what is no marker of a worker (see marks.hpp). Reads what the caller may
// read of /proc: as root everything, else the processes of its own user. Not all where this process
// lacks what it needs to look, and while one doesn't show its environment (process_environments.hpp);
// where those it sees are none then, it doesn't look each time.
MarkedProcesses marked_processes(std::string_view marker);
bool is_marker(std::string_view entry);
bool has_environment_entry(std::string_view environ, std::string_view entry);

// Nobody where /proc can't be read.
std::vector<pid_t> all_pids();

// How long the machine has been awake since its boot: what supervisors and agents of one boot measure
// by alike.
Duration since_boot();
// The same with the time in which it slept.
Duration since_boot_asleep_too();

}  // namespace paceline::agent
