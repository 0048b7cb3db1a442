// What the command line does not do itself: its program does it, with what a command was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "http/tcp_socket.hpp"
#include "model/limits.hpp"
#include "model/node.hpp"
#include "trust/token.hpp"

namespace paceline {

// What `up` and `agent` were both told of the machine that they run on.
struct MachineOptions {
  std::optional<int> slots;                   // CPU slots to offer; nothing: what the machine has
  std::optional<std::uint64_t> memory_bytes;  // for all jobs; nothing: what the machine has
  std::string node;                           // what it is called; empty: its host name
  std::string rack, network_switch;           // where it stands; empty: unknown
  std::map<std::string, std::string> labels;  // for jobs to name
  std::optional<std::string> advertise;       // where other nodes reach its workers
  std::string health_check;                   // shell command that says if it is well; empty: none
  std::string log_level = "info";             // trace, debug, info, warning, error
  Limits limits;
};

// What `paceline agent` was asked for.
struct AgentOptions : MachineOptions {
  std::string directory;           // absolute; from --dir or the usual place
  std::optional<TcpAddress> join;  // the server's; nothing: the one that is kept there
  std::optional<Token> token;      // to join by
  Duration lease = kUsualLease;    // NodeSpec::lease
  bool serve_root = false;         // root's jobs run there, as root
  bool detach = false;             // go on in the background
  bool guest = false;              // what it starts ends with it, and its directory is removed then
};

// What `paceline up` was asked for.
struct UpOptions : MachineOptions {
  std::string directory;  // absolute; from --dir, $PACELINE_DIR or the usual place
  // Where it serves; the directory itself, but of the machine's server.
  std::string socket_directory;
  std::string former_directory;  // where root's server was before it had a place; empty: nowhere
  std::optional<std::string> move_from;   // take over what lies there
  bool detach = false;                    // go on in the background once it serves
  std::optional<std::string> policy;      // nothing: as the directory remembers, else the default
  std::optional<std::string> placement;   // nothing: the default
  std::optional<std::string> patience;    // the same
  std::optional<Duration> reclaim_after;  // nothing: as the directory remembers, else the default
  bool accept_older_journal = false;      // go on from a journal that lost its end
  std::optional<Duration> keep;           // of jobs that ended; nothing: for ever
  std::optional<TcpAddress> listen;       // serve people on other machines there
  std::optional<TcpAddress> metrics;      // serve GET /metrics there, too
  bool metrics_of_jobs = false;           // with series of each job
  std::optional<std::uint64_t> journal_size;  // bytes of its segments; nothing: all are kept
  std::optional<std::string> messages;        // absolute; a file that says how people are told
};

// What `paceline simulate` was asked for. Words that only the simulator knows are as they were typed.
struct SimulateOptions {
  std::string trace;
  std::string format = "auto";
  bool skip_bad_lines = false;
  std::optional<std::string> columns;  // of a CSV file of one's own
  std::optional<std::string> cluster, what_if;
  std::string policies = "elastic-fifo";  // a list
  std::int64_t seeds = 1;
  double load = 1;
  std::optional<Duration> from, until, warmup, cooldown;
  std::optional<std::string> elastic, speedup, learning, reach, placement, know, profiles, batch,
      on_failure, device_speeds, reference_device;
  std::optional<Duration> restart, resize;  // pauses; nothing: the trace's, or the usual ones
  double failures = 0;                      // per slot and hour
  Duration save_every = std::chrono::minutes{30};
  Duration reclaim_after{};  // 0: a job that never saved may be stopped for others at once
  bool protects = true;      // running jobs, by plan/protection.hpp
  std::int64_t threads = 0;  // 0: one per core
  std::optional<std::string> jobs_out, record, report, plot;
  bool replay = false;  // the journal's own rounds, instead of a simulation
  std::string command;  // the whole command line
};

// What `paceline simulate --faults` was asked for.
struct FaultsOptions {
  std::uint64_t first = 1, last = 1;  // seeds
  std::int64_t threads = 0;           // 0: one per core
  // Told of each thing that happens in the only seed, and when.
  std::function<void(Duration since, std::string_view line)> story;
  std::string command;  // the whole command line
};

// What `paceline journal export` was asked for.
struct ExportOptions {
  std::string directory;  // of a server
  std::uint64_t from = 1;
  std::optional<std::uint64_t> to;
  std::string output;                                 // a file; empty: `print`
  std::function<bool(std::string_view lines)> print;  // false: nobody reads on
  std::function<void(const Error&)> complain;         // of entries that can't be read
};

// A server's journal where it lies, whether or not the server runs (docs/cli.md, The journal).
struct JournalHooks {
  // {"directory", "segments": [...], "database": {...}} as JSON. Reads and checks every segment.
  std::function<Result<std::string>(const std::string& directory)> list;
  // Returns how many entries were missing.
  std::function<Result<std::uint64_t>(const ExportOptions&)> export_lines;
  // As POST /v1/journal/prune answers. Errors: conflict: a server runs there.
  std::function<Result<std::string>(const std::string& directory, std::uint64_t before)> prune;
};

// What `paceline backup` was asked for, and what it made.
struct BackupOptions {
  std::string directory;  // of a server
  std::string output;
};
struct BackupDone {
  std::uint64_t entries = 0;  // of the journal
  std::uint32_t jobs = 0;
  std::uint64_t bytes = 0;
};

// Called with the done part now and then; false: give up.
using ProgressBar = std::function<bool(double done)>;

struct Hooks {
  std::string version;                      // "0.1.0 (803c4c0, gcc 12.2)"
  std::function<int(const UpOptions&)> up;  // returns the exit code
  std::function<int(const AgentOptions&)> agent;
  // Returns the study, or the replay, as JSON (docs/simulate.md). Errors: as of reading its words and files.
  std::function<Result<std::string>(const SimulateOptions&, const ProgressBar&)> simulate;
  // The same (docs/simulate.md, Faults). Faults that it finds are no error.
  std::function<Result<std::string>(const FaultsOptions&, const ProgressBar&)> simulate_faults;
  JournalHooks journal;
  std::function<Result<BackupDone>(const BackupOptions&)> backup;
  std::function<int(int argc, char** argv)> supervise;  // `paceline supervise …`, not for people
};

}  // namespace paceline
