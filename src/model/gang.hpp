// A gang: all workers of one incarnation of a job. They start, fail and stop together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "model/ids.hpp"
#include "model/job_state.hpp"
#include "model/warning.hpp"

namespace paceline {

// Where one worker would stand. A placement is seats in rank order; it holds nothing.
struct Seat {
  NodeId node;
  std::vector<std::uint32_t> slots;  // indexes on the node, ascending

  friend bool operator==(const Seat&, const Seat&) = default;
};

using Placement = std::vector<Seat>;

// How a worker ended, as its agent saw it.
struct Ending {
  Cause cause = Cause::exited;
  std::optional<std::int32_t> exit_code;
  std::int32_t signal = 0;
  std::string message;  // one sentence, where there is more to say
  Time at;

  // A signal of ours ended it.
  [[nodiscard]] bool ours() const { return is_our_kill(cause); }
  [[nodiscard]] bool clean() const { return cause == Cause::exited && exit_code == 0; }
  [[nodiscard]] bool asks_requeue() const {
    return cause == Cause::exited && (exit_code == 75 || exit_code == 99);
  }
  friend bool operator==(const Ending&, const Ending&) = default;
};

enum class WorkerState { assigned, running, ended };

struct Worker {
  Seat seat;
  WorkerState state = WorkerState::assigned;
  std::int64_t pid = 0;
  std::optional<Ending> ending;  // set when `ended`: nothing of its process tree is left
  // That fills the seat; none: the one born for it, {job, generation, rank}.
  std::optional<ProcessKey> process = {};
  bool ready = false;  // to join: of a gang that forms in place

  friend bool operator==(const Worker&, const Worker&) = default;
};

// Our decision to end a gang. The first one stands, except that an owner's cancel replaces a milder
// one.
struct Stop {
  Cause cause =
      Cause::preempted;  // preempted resized cancelled timed_out gang_failed requeue_asked
  Time at;
  Duration grace{};                  // between notice and kill
  std::optional<JobId> beneficiary;  // whose start needs the slots
  friend bool operator==(const Stop&, const Stop&) = default;
};

// Others are to have its slots, and it never saved: it was told, and goes on for a while
// (plan/reclaim.hpp).
struct Asked {
  JobId by;    // the job that would start, as of the newest round
  Time since;  // of the first round that would have stopped it
  friend bool operator==(const Asked&, const Asked&) = default;
};

struct Gang {
  Generation generation;
  std::int32_t attempt = 0;
  std::vector<Worker> workers;     // by rank
  Time formed_at;                  // when its seats were leased or promised
  std::optional<Time> started_at;  // when the last worker was seen running, or they went on
  std::optional<Stop> stop;
  std::optional<Time> lent_at = {};  // frozen since then, its slots lent to others
  Duration unsaved{};                // of its running before `started_at`, what no checkpoint has
  std::optional<Asked> asked = {};
  std::vector<Warning> warnings = {};  // that hold, in their order
  bool in_place = false;  // its workers can go on in the next generation: one of them said so
  std::int32_t joins_failed = 0;  // in a row, of the generations that were to follow it in place
  bool failed = false;  // goes on without one that failed, which counts once until they stand again
  bool waits = false;   // fewer than its job may have are left, and do nothing until others join
                        // in place of the dead

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(workers.size()); }
  // The process that fills the rank. REQUIRES: its own job; a rank of it.
  [[nodiscard]] ProcessKey process(JobId job, std::int32_t rank) const;
  // The rank of a process of its job; nothing: it is no member. Cost: O(1) for processes born into
  // it, else O(size).
  [[nodiscard]] std::optional<std::int32_t> rank_of(const ProcessKey& process) const;
  // Into which the first of its processes was born. Cost: O(size).
  [[nodiscard]] Generation oldest(JobId job) const;
  // No worker waits for its start any more.
  [[nodiscard]] bool all_started() const;
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] bool any_ended() const;
  // The first ending in time (ties by rank) that was not clean, those by our kill last; nullptr if
  // there is none.
  [[nodiscard]] const Ending* first_failure() const;

  friend bool operator==(const Gang&, const Gang&) = default;
};

// A process that was told to go while its gang goes on: it left for a smaller one, or was to join one
// that did not come about.
struct Parting {
  ProcessKey process;
  Worker worker;
  Stop stop;
  bool joined = false;  // it was a member, and what it said counts
  friend bool operator==(const Parting&, const Parting&) = default;
};

}  // namespace paceline
