// One worker as server and agent speak of it: what starts it, what is observed of it, and the claim
// that outlives both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"
#include "model/job_state.hpp"
#include "model/launch.hpp"
#include "model/progress.hpp"
#include "model/warning.hpp"

namespace paceline {

// How long a worker may still run, and how its end is announced. The server holds to it; where it is
// away, the machine does.
struct RunLimit {
  Duration left{};
  std::int32_t signal = 15;
  Duration grace{};  // between notice and kill
  friend bool operator==(const RunLimit&, const RunLimit&) = default;
};

// Where a process stands in its job's gang.
struct Membership {
  Generation generation;
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  friend bool operator==(const Membership&, const Membership&) = default;
};

// How the processes of a generation that goes on in place find each other, and where one of them stands
// on its node.
struct GangPlace {
  std::int32_t local_rank = 0;
  std::int32_t local_world_size = 1;
  std::int32_t group_rank = 0;
  std::int32_t group_world_size = 1;
  std::string address;     // of rank 0's node
  std::uint32_t port = 0;  // where rank 0 waits there
  friend bool operator==(const GangPlace&, const GangPlace&) = default;
};

// Another node of a gang, and where its agent says who it is (NodeSpec::reach_port).
struct GangPeer {
  std::string node;
  std::string address;
  std::uint32_t port = 0;
  std::string nonce;
  friend bool operator==(const GangPeer&, const GangPeer&) = default;
};
inline constexpr std::size_t kPeersMax = 2;

// The newest checkpoint, as the server has it: the machine sees to it that the worker finds it.
struct CheckpointCopy {
  std::string node;    // where it was written
  std::string inside;  // CheckpointPlace
  std::string ship;
  friend bool operator==(const CheckpointCopy&, const CheckpointCopy&) = default;
};

// One worker, ready to start. Everything is decided; the host adds what only it knows
// (device paths, sockets).
struct WorkerLaunch {
  ProcessKey key;         // born into the generation that it is started for
  std::int32_t rank = 0;  // there
  std::int32_t attempt = 1;
  std::int32_t restart_count = 0;  // starts of this job before this one
  std::int32_t world_size = 1;
  std::int32_t local_rank = 0;  // position among this gang's workers on this node
  std::int32_t local_world_size = 1;
  std::int32_t group_rank = 0;  // position of this node among the gang's nodes
  std::int32_t group_world_size = 1;
  std::vector<std::string> addresses;  // of every rank's node, in rank order
  std::vector<std::uint32_t> slots;    // indexes on this node
  // Those of all of this gang's workers on this node, in the order of their local ranks. Empty: an
  // older server did not say; then as if there were no others.
  std::vector<std::uint32_t> local_slots;
  // The first of the gang's ports, the same on all of its nodes. A gang on one node has others of
  // that node where these are taken.
  std::uint32_t port = 0;
  std::string job_name;
  std::string user;
  std::uint32_t uid = 0;
  LaunchSpec launch;
  std::int32_t slots_per_worker = 1;
  double cpus = 0;                    // 0: unlimited
  std::uint64_t memory_bytes = 0;     // 0: unlimited
  std::uint64_t log_limit_bytes = 0;  // of all of the job's logs there; 0: the machine's bound
  std::int32_t retries = 0;
  bool pty = false;
  std::string checkpoint_glob;
  std::string checkpoint;  // newest acknowledged one; empty: none
  Duration age{};          // of the job; zero: not said
  std::optional<RunLimit> limit = {};
  // How long it runs without its machine hearing of a server, the grace at the end included; nothing:
  // for ever.
  std::optional<RunLimit> lease = {};
  // Where it is to join a gang that goes on; nothing: all of its gang start with it.
  std::optional<GangPlace> joins = {};
  // Nodes that its own must reach before it starts; at most kPeersMax.
  std::vector<GangPeer> peers = {};
  std::optional<CheckpointCopy> copy =
      {};  // of `checkpoint`; nothing: that is there, or there is none

  friend bool operator==(const WorkerLaunch&, const WorkerLaunch&) = default;
};

// The claim is durable and the worker's main process runs.
struct WorkerRuns {
  ProcessKey key;
  std::int64_t pid = 0;
  friend bool operator==(const WorkerRuns&, const WorkerRuns&) = default;
};

// Nothing of the worker's process tree is left; its slots are empty.
struct WorkerGone {
  ProcessKey key;
  Cause cause =
      Cause::exited;  // exited signalled out_of_memory launch_failed setup_failed timed_out (its
                      // machine ended it, see RunLimit) node_lost refused missing
  std::optional<std::int32_t> exit_code;  // of the main process, for `exited`
  std::int32_t signal = 0;                // that ended the main process, for `signalled`
  std::string message;  // of launch_failed, setup_failed, node_lost, refused, missing
  Time at;              // when the main process ended
  bool alone = false;   // of `refused`: its machine refuses this start, but no others
  friend bool operator==(const WorkerGone&, const WorkerGone&) = default;
};

// One report of a training script, already parsed. Unset fields were not in the report.
struct WorkerReport {
  ProcessKey key;
  std::uint64_t report = 0;  // grows with each report of this worker, over agent restarts too; a
                             // repeated number is a repeat
  Time at;
  std::optional<std::uint64_t> step, total_steps, samples, position;
  std::optional<double> epoch, total_epochs, step_seconds, learning_rate;
  std::map<std::string, double> metrics;  // at most kMetricsMax
  std::optional<ResumeAudit> resume = {};
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

struct CheckpointSeen {
  ProcessKey key;
  std::uint64_t report = 0;
  Time at;
  std::string path;  // absolute
  std::optional<std::uint64_t> step, samples;
  std::string inside = {};  // CheckpointPlace
  friend bool operator==(const CheckpointSeen&, const CheckpointSeen&) = default;
};

// One that the server asks for, and whose it is.
struct WantedCheckpoint {
  ProcessKey key;
  std::uint64_t report = 0;
  std::string path;
  std::string user;
  std::uint32_t uid = 0;
  friend bool operator==(const WantedCheckpoint&, const WantedCheckpoint&) = default;
};

struct ModelSeen {
  ProcessKey key;
  std::uint64_t report = 0;
  Time at;
  std::string path;    // absolute
  std::string sha256;  // as of a PublishedModel
  std::optional<std::uint64_t> bytes, step, samples;
  friend bool operator==(const ModelSeen&, const ModelSeen&) = default;
};

// What its machine sees of a worker that its owner should know; told again after a restart of the
// agent.
struct WorkerWarning {
  ProcessKey key;
  Warning warning = Warning::no_rendezvous;
  bool holds = true;  // false: it no longer does
  friend bool operator==(const WorkerWarning&, const WorkerWarning&) = default;
};

// What a worker says of its gang, as its machine heard it last; generation 0: nothing yet.
struct WorkerPlaced {
  ProcessKey key;
  Generation ready;   // that it can join
  Generation stands;  // of which it met all ranks
  friend bool operator==(const WorkerPlaced&, const WorkerPlaced&) = default;
};

// A claim as found: what is known about a worker this host started and has not been told to
// discard.
struct Claim {
  ProcessKey key;
  std::int64_t pid = 0;                // 0: not started yet
  std::optional<WorkerGone> gone;      // set once nothing of it is left
  bool noticed = false;                // a notice was given
  std::vector<std::uint32_t> slots;    // it has, as launched
  Generation ready = {}, stands = {};  // as in WorkerPlaced
  friend bool operator==(const Claim&, const Claim&) = default;
};

}  // namespace paceline
