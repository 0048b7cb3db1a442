// What the texts in a claim say: the order that starts a worker, and how that ended. Each is described
// once for both directions (claim_text.cpp), in the form of fields.hpp.
//
//   std::string text = to_text(order);
//   std::optional<WorkerOrder> read = parse_order(text);   // none if a single byte is another
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host.hpp"
#include "agent/linux/cgroups.hpp"

namespace paceline::agent {

enum class ClaimFormat {
  plain,   // without digests, as an earlier version wrote it
  sealed,  // as written now
};

// The name of the first field of an order without digests.
inline constexpr std::string_view kPlainFirst = "key";

// All that a supervisor needs to start and end one worker, and an agent to take it over. Holds the
// owner's environment: 0600.
struct WorkerOrder {
  ProcessKey key;
  std::string boot_id;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string directory;
  std::uint32_t umask = 022;
  std::uint32_t uid = 0;
  std::vector<std::uint32_t> groups;  // its own first; empty: those of the owner's account
  bool shell = false;           // the main process is our shell: a notice goes to its children
  std::string setup;            // empty: none
  bool runs_setup = false;      // this worker runs it, the others of the gang on this node wait
  std::string setup_outcome;    // the file where that worker tells the others how it ended
  std::string log;              // absolute path
  std::int64_t log_offset = 0;  // where this worker's own part of the log begins
  std::string marker;    // "PACELINE_WORKER=…", in the environment of every process of the worker
  std::string terminal;  // path of the terminal's socket; empty: the worker has none
  std::string control;   // name of the control channel, see control.hpp
  CgroupPlan cgroups;
  std::optional<RunLimit> limit;
  // Without a server; see WorkerLaunch::lease. No span: none.
  std::int64_t lease_us = 0;
  std::int32_t lease_signal = 15;
  std::int64_t lease_grace_us = 0;
  std::string shm;                // the directory that it sees as /dev/shm; empty: the machine's
  std::int64_t submitted_us = 0;  // when the job was, by this machine's clock; 0: not known
  std::vector<std::string> witnesses;  // see LaunchSpec; none: the directory is taken as it is

  // For the agent alone.
  std::int64_t started_us = 0;
  std::int32_t attempt = 1;
  std::int32_t rank = 0;  // that it is started with, like the next two
  std::int32_t world_size = 1;
  std::int32_t local_rank = 0;
  std::vector<std::uint32_t> slots;
  std::uint32_t port = 0;  // first port of the gang's block
  std::string job_name;
  std::string socket;      // PACELINE_SOCKET
  std::string checkpoint;  // the newest acknowledged one at the start
  std::string checkpoint_glob;
  std::uint32_t status_port = 0;      // where the worker posts its trainer status; 0: nowhere
  std::string status_token;           // by which such a post is known to be its own
  std::uint64_t log_limit_bytes = 0;  // of all of its job's logs here; 0: the machine's bound
};

// How a worker ended. `cause` is one of exited, signalled, out_of_memory, launch_failed,
// setup_failed, timed_out, node_lost, refused, missing.
struct WorkerEnding {
  Cause cause = Cause::exited;
  std::optional<std::int32_t> exit_code;
  std::int32_t signal = 0;
  std::int64_t at_us = 0;  // since the boot, awake
  std::string message;
  bool alone = false;  // refused over the job's own things: others start here
};

std::string claim_name(const ProcessKey& key);  // "7.2.0"
std::optional<ProcessKey> parse_claim_name(std::string_view name);

std::string to_text(const WorkerOrder& order, ClaimFormat format = ClaimFormat::sealed);
// Nothing unless `text` is exactly what to_text() writes, every field and the digest included.
std::optional<WorkerOrder> parse_order(std::string_view text);

// REQUIRES: a cause that a worker may end by (see WorkerEnding).
std::string to_text(const WorkerEnding& ending);
// Nothing for text that was cut off, or says what this version does not know: above all a cause of
// another version, which is not to pass for one of ours.
std::optional<WorkerEnding> parse_ending(std::string_view text);

}  // namespace paceline::agent
