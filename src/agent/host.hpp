// What the agent's state machine asks of the machine it runs on, and what the machine tells it.
// Both are data: agent/linux/ performs them with processes, and a simulated host does with numbers.
//
// The host keeps one durable claim per worker it ever started, until told to discard it. A claim
// outlives agent and server: whoever starts next reads the claims and adopts what still runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "model/node.hpp"
#include "model/worker.hpp"

namespace paceline::agent {

using paceline::CheckpointSeen;
using paceline::Claim;
using paceline::ModelSeen;
using paceline::WantedCheckpoint;
using paceline::WorkerGone;
using paceline::WorkerLaunch;
using paceline::WorkerPlaced;
using paceline::WorkerReport;
using paceline::WorkerRuns;
using paceline::WorkerWarning;

// ---- what the agent asks ----
struct Start {
  WorkerLaunch worker;
};
struct GiveNotice {
  ProcessKey key;
  std::int32_t signal = 15;
};  // to the main process, see docs/design.md 6
struct Kill {
  ProcessKey key;
};  // freeze, SIGKILL all, thaw; the whole process tree
struct Freeze {
  ProcessKey key;
};
struct Thaw {
  ProcessKey key;
};
struct Discard {
  ProcessKey key;
};  // forget an ended worker's claim
struct SetShouldStop {
  ProcessKey key;
  std::string reason;
};  // what GET /v1/should_stop answers from now on

// How long it may still run, time in which it is frozen aside. The machine holds to it where no agent
// is there to hear the server's word, and where agent or server hang. Until it is said, that of the
// start counts from when the main process runs.
struct SetLimit {
  ProcessKey key;
  RunLimit limit;
};

// What GET /v1/me and GET /v1/gang answer from now on; until it is said, as the process was started.
struct SetMembership {
  ProcessKey key;
  Membership membership;
  GangPlace place;
};

// GET /v1/gang answers from now on that its gang goes on as this generation, without it.
struct Dismiss {
  ProcessKey key;
  Generation generation;
};

// The server is heard: from now on the leases of all workers that have one last so long anew.
struct RenewLeases {
  Duration lease{};
};

// The checkpoint that it acknowledged is to be sent to the server. Whether its process is there still, does
// not matter.
struct Keep {
  WantedCheckpoint checkpoint;
};

using Action = std::variant<Start, GiveNotice, Kill, Freeze, Thaw, Discard, SetShouldStop, SetLimit,
                            SetMembership, Dismiss, RenewLeases, Keep>;

// ---- what the host tells ----
using Observation = std::variant<WorkerRuns, WorkerGone, WorkerReport, CheckpointSeen,
                                 WorkerWarning, WorkerPlaced, ModelSeen>;

inline constexpr std::size_t kUnstoredMax = 10'000;

// The machine. One thread calls everything; observations are handed over on that thread, also from
// within a call.
class Host {
 public:
  virtual ~Host() = default;

  // What this machine has, and whether it is unhealthy. Called once at start and again when that
  // changes.
  virtual NodeSpec describe() = 0;
  // A different value after every boot of the machine.
  virtual std::string boot_id() = 0;
  // Every claim there is, ended ones too; supervisors that died since are found out and cleaned up.
  // Complete: a start that an earlier agent performed is among them or will never become a process.
  // `gone` is set once the end of a worker was observed, which is the last thing told of it: where an
  // ended worker left reports or checkpoints unobserved, they and then its end are observed later.
  virtual std::vector<Claim> claims() = 0;
  // Performs an action. Never blocks for a worker; the outcome is observed later. Idempotent: an
  // action on a worker that is already there, already ended or unknown changes nothing (a Kill of
  // an unknown worker is observed as WorkerGone{node_lost}).
  virtual void perform(const Action& action) = 0;
  // What was observed of the worker up to its report, checkpoint or model of this number is stored
  // for good. All else of it is observed again by the next agent, with the same numbers, as far as the
  // host can. At most kUnstoredMax reports, checkpoints and models are observed that are not stored:
  // the rest waits in the logs, and whoever posts a report waits for his answer.
  virtual void stored(const ProcessKey& key, std::uint64_t report) = 0;
  // REQUIRES: set before the first claims() and perform().
  virtual void on_observation(std::function<void(Observation)> handler) = 0;
};

}  // namespace paceline::agent
