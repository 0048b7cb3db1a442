// A claim on disk: the directory DIR/agent/workers/<job>.<generation>.<rank>/ that says this worker
// was started here. Making it is exclusive (mkdir), so a worker starts once however often it is
// asked for. It holds
//
//   order         what to start, written by the agent before anyone can act on it (WorkerOrder)
//   lock          flock'ed from before the supervisor exists until it is gone: whoever gets this
//   lock knows that nobody supervises control.sock  the supervisor's control channel (control.hpp);
//   bound by the agent, listened on by the supervisor running       supervisor and main process,
//   written once the main process runs (WorkerProcesses) noticed       there once a notice was
//   given status        how it ended, written once nothing of its process tree is left
//   (WorkerEnding) tail          how far reports were handed on (report_ledger.hpp)
//
// Nothing here is fsync'ed. A claim has to survive the death of agent, server and supervisor, for
// which the page cache is enough; after a crash of the machine the boot id differs, every claim is
// over, and its content no longer matters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host.hpp"
#include "agent/linux/cgroups.hpp"
#include "agent/linux/fd.hpp"
#include "agent/linux/process.hpp"
#include "base/result.hpp"

namespace paceline::agent {

// All that a supervisor needs to start and end one worker, and an agent to take it over. Holds the
// owner's environment: 0600.
struct WorkerOrder {
  WorkerKey key;
  std::string boot_id;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string directory;
  std::uint32_t umask = 022;
  std::uint32_t uid = 0;
  bool shell = false;  // the main process is our shell: a notice goes to its children
  bool pty = false;
  std::string setup;        // empty: none
  bool runs_setup = false;  // this worker runs it, the others of the gang on this node wait
  std::string gang;  // DIR/agent/gangs/<job>.<generation>: where the outcome of the setup is told
  std::string log;   // absolute path
  std::int64_t log_offset = 0;  // where this worker's own part of the log begins
  std::string marker;  // "PACELINE_WORKER=…", in the environment of every process of the worker
  CgroupPlan cgroups;

  // For the agent alone.
  std::int64_t started_us = 0;
  std::int32_t attempt = 1;
  std::int32_t world_size = 1;
  std::int32_t local_rank = 0;
  std::vector<std::uint32_t> slots;
  std::uint32_t port = 0;  // first port of the gang's block
  std::string job_name;
  std::string socket;      // PACELINE_SOCKET
  std::string token;       // of the trainer-status listener
  std::string checkpoint;  // the newest acknowledged one at the start
  std::string checkpoint_glob;
};

struct WorkerProcesses {
  ProcessId supervisor;
  ProcessId main;
};

// How a worker ended. `cause` is one of exited, signalled, out_of_memory, launch_failed,
// setup_failed, node_lost.
struct WorkerEnding {
  Cause cause = Cause::exited;
  std::optional<std::int32_t> exit_code;
  std::int32_t signal = 0;
  std::int64_t at_us = 0;
  std::string message;
};

std::string claim_name(const WorkerKey& key);  // "7.2.0"
std::optional<WorkerKey> parse_claim_name(std::string_view name);

std::string to_text(const WorkerOrder& order);
std::optional<WorkerOrder> parse_order(std::string_view text);
std::string to_text(const WorkerProcesses& running);
WorkerProcesses parse_processes(std::string_view text);
std::string to_text(const WorkerEnding& ending);
std::optional<WorkerEnding> parse_ending(std::string_view text);

// Takes the claim's lock without waiting; an empty descriptor while somebody holds it. It lasts
// until every copy is closed.
UniqueFd lock_claim(int claim);

// Forgets a claim: its files and the directory itself, `order` first, so that a claim that is half
// gone counts as none.
void remove_claim(const std::string& path);

}  // namespace paceline::agent
