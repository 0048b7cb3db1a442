// What the agent's state machine asks of the machine it runs on, and what the machine tells it. Both are data: agent/linux/
// performs them with processes, and a simulated host does with numbers.
//
// The host keeps one durable claim per worker it ever started, until told to discard it. A claim outlives agent and server:
// whoever starts next reads the claims and adopts what still runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "model/ids.hpp"
#include "model/job_state.hpp"
#include "model/launch.hpp"
#include "model/node.hpp"
#include "model/job_spec.hpp"

namespace paceline::agent {

// One worker, ready to start. Everything is decided; the host adds what only it knows (ports, device paths, sockets).
struct WorkerLaunch {
  WorkerKey key;
  std::int32_t attempt = 1;
  std::int32_t restart_count = 0;   // starts of this job before this one
  std::int32_t world_size = 1;
  std::int32_t local_rank = 0;      // position among this gang's workers on this node
  std::int32_t local_world_size = 1;
  std::int32_t group_rank = 0;      // position of this node among the gang's nodes
  std::int32_t group_world_size = 1;
  std::vector<std::string> addresses;   // of every rank's node, in rank order
  std::vector<std::uint32_t> slots;     // indexes on this node
  std::string job_name;
  std::string user;
  std::uint32_t uid = 0;
  LaunchSpec launch;
  std::int32_t slots_per_worker = 1;
  double cpus = 0;                  // 0: unlimited
  std::uint64_t memory_bytes = 0;   // 0: unlimited
  std::int32_t retries = 0;
  bool pty = false;
  std::string checkpoint_glob;
  std::string checkpoint;           // newest acknowledged one; empty: none

  friend bool operator==(const WorkerLaunch&, const WorkerLaunch&) = default;
};

// ---- what the agent asks ----
struct Start { WorkerLaunch worker; };
struct GiveNotice { WorkerKey key; std::int32_t signal = 15; };  // to the main process, see docs/design.md 6
struct Kill { WorkerKey key; };      // freeze, SIGKILL all, thaw; the whole process tree
struct Freeze { WorkerKey key; };
struct Thaw { WorkerKey key; };
struct Discard { WorkerKey key; };   // forget an ended worker's claim
struct SetShouldStop { WorkerKey key; std::string reason; };  // what GET /v1/should_stop answers from now on

using Action = std::variant<Start, GiveNotice, Kill, Freeze, Thaw, Discard, SetShouldStop>;

// ---- what the host tells ----
// The claim is durable and the worker's main process runs.
struct WorkerRuns {
  WorkerKey key;
  std::int64_t pid = 0;
};

// Nothing of the worker's process tree is left; its slots are empty.
struct WorkerGone {
  WorkerKey key;
  Cause cause = Cause::exited;          // exited signalled out_of_memory launch_failed setup_failed node_lost
  std::optional<std::int32_t> exit_code;  // of the main process, for `exited`
  std::int32_t signal = 0;                // that ended the main process, for `signalled`
  std::string message;                    // one sentence for launch_failed, setup_failed, node_lost
  Time at;                                // when the main process ended
};

// One report of a training script, already parsed. Unset fields were not in the report.
struct WorkerReport {
  WorkerKey key;
  std::uint64_t report = 0;  // grows with each report of this worker, over agent restarts too; a repeated number is a repeat
  Time at;
  std::optional<std::uint64_t> step, total_steps, samples, position;
  std::optional<double> epoch, total_epochs, step_seconds, learning_rate;
  std::map<std::string, double> metrics;  // at most 64
};

struct CheckpointSeen {
  WorkerKey key;
  std::uint64_t report = 0;
  Time at;
  std::string path;  // absolute
  std::optional<std::uint64_t> step, samples;
};

using Observation = std::variant<WorkerRuns, WorkerGone, WorkerReport, CheckpointSeen>;

// A claim as found: what is known about a worker this host started and has not been told to discard.
struct Claim {
  WorkerKey key;
  std::int64_t pid = 0;                  // 0: not started yet
  std::optional<WorkerGone> gone;        // set once nothing of it is left
  bool noticed = false;                  // a notice was given
};

// The machine. One thread calls everything; observations are handed over on that thread.
class Host {
 public:
  virtual ~Host() = default;

  // What this machine has. Called once at start and again when devices change.
  virtual NodeSpec describe() = 0;
  // A different value after every boot of the machine.
  virtual std::string boot_id() = 0;
  // Every claim there is, ended ones too; supervisors that died since are found out and cleaned up.
  virtual std::vector<Claim> claims() = 0;
  // Performs an action. Never blocks for a worker; the outcome is observed later. Idempotent: an action on a worker that is
  // already there, already ended or unknown changes nothing (a Kill of an unknown worker is observed as WorkerGone{node_lost}).
  virtual void perform(const Action& action) = 0;
  // REQUIRES: set before the first perform().
  virtual void on_observation(std::function<void(Observation)> handler) = 0;
};

}  // namespace paceline::agent
