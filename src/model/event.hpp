// What happened: every event, in order, is the truth; the state is its fold (plan/apply.hpp).
// Events hold facts, never decisions: those are plans. Nothing private to a job's owner (command,
// environment, directory) is in an event.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/drain.hpp"
#include "model/gang.hpp"
#include "model/ids.hpp"
#include "model/job_spec.hpp"
#include "model/node.hpp"
#include "model/principal.hpp"
#include "model/progress.hpp"
#include "model/rules.hpp"
#include "model/wall_clock.hpp"

namespace paceline {

struct NodeUp {  // joined, returned, or changed what it has
  NodeId node;
  NodeSpec spec;
  friend bool operator==(const NodeUp&, const NodeUp&) = default;
};
struct NodeDown {
  NodeId node;
  friend bool operator==(const NodeDown&, const NodeDown&) = default;
};
struct JobSubmitted {
  JobId job;
  JobSpec spec;
  friend bool operator==(const JobSubmitted&, const JobSubmitted&) = default;
};
enum class Request { cancel, pause, resume };
struct JobRequested {
  JobId job;
  Request request = Request::cancel;
  Principal by;  // who asked
  friend bool operator==(const JobRequested&, const JobRequested&) = default;
};
struct RangeSet {
  JobId job;
  WorkerRange range;
  Principal by = {};  // of older journals nobody
  friend bool operator==(const RangeSet&, const RangeSet&) = default;
};
struct PolicySet {
  std::string name;
  std::map<std::string, std::string> parameters;
  Principal by = {};  // nobody: the server itself
  friend bool operator==(const PolicySet&, const PolicySet&) = default;
};
struct PolicyLoaded {  // a script is known from now on, or replaced; an empty text forgets it
  std::string name;
  std::string text;
  Principal by = {};
  friend bool operator==(const PolicyLoaded&, const PolicyLoaded&) = default;
};
struct PolicyFailed {  // a script was set aside for a round: another policy decided it
  std::string name;
  std::string why;  // one sentence
  friend bool operator==(const PolicyFailed&, const PolicyFailed&) = default;
};
struct TrialBegan {  // a policy decides every round without effect from now on
  std::string name;
  std::map<std::string, std::string> parameters;
  Principal by = {};
  friend bool operator==(const TrialBegan&, const TrialBegan&) = default;
};
struct TrialEnded {
  std::string name;
  Principal by = {};
  friend bool operator==(const TrialEnded&, const TrialEnded&) = default;
};
struct RulesSet {  // those that are given; the others stay
  Rules rules;
  Principal by = {};  // nobody: the server itself
  friend bool operator==(const RulesSet&, const RulesSet&) = default;
};
struct WorkerStarted {
  ProcessKey worker;
  std::int64_t pid = 0;
  friend bool operator==(const WorkerStarted&, const WorkerStarted&) = default;
};
// A process that was started for a generation that forms in place has all it needs to join it.
struct WorkerReady {
  ProcessKey worker;
  Generation generation;
  friend bool operator==(const WorkerReady&, const WorkerReady&) = default;
};
// All ranks of that generation have met, as one of them said: they train, and can go on in another.
struct GangStands {
  JobId job;
  Generation generation;
  friend bool operator==(const GangStands&, const GangStands&) = default;
};
struct WorkerEnded {  // nothing of its process tree is left
  ProcessKey worker;
  Ending ending;
  Duration unseen{};  // so long before this it had ended, where nobody could be told at once
  friend bool operator==(const WorkerEnded&, const WorkerEnded&) = default;
};
struct CheckpointAcknowledged {
  JobId job;
  Generation generation;
  Checkpoint checkpoint;
  friend bool operator==(const CheckpointAcknowledged&, const CheckpointAcknowledged&) = default;
};
// What became of a checkpoint that lay on one machine.
struct CheckpointKept {
  JobId job;
  Checkpoint checkpoint;  // with its place
  Keeping keeping = Keeping::kept;
  friend bool operator==(const CheckpointKept&, const CheckpointKept&) = default;
};
struct Progressed {  // at most one per job and round: all that decisions see
  JobId job;
  Generation generation;
  Progress report;
  friend bool operator==(const Progressed&, const Progressed&) = default;
};
struct ModelPublished {
  JobId job;
  Generation generation;
  PublishedModel model;
  friend bool operator==(const ModelPublished&, const ModelPublished&) = default;
};
struct JobWarned {
  JobId job;
  Generation generation;
  Warning warning = Warning::no_rendezvous;
  bool holds = true;  // false: it no longer does
  friend bool operator==(const JobWarned&, const JobWarned&) = default;
};
// From here on the clock of the server's machine shows `by` more than before, to the second: it was
// set, or the machine slept. With a boot, the machine was started since the entry before: the time
// line stood still, and `by` is about how long it was off.
struct ClockSet {
  Duration by{};
  std::optional<Boot> boot;
  friend bool operator==(const ClockSet&, const ClockSet&) = default;
};
struct TimeLimitReached {
  JobId job;
  friend bool operator==(const TimeLimitReached&, const TimeLimitReached&) = default;
};
// They are over, and leave the state for the store, where people find them. What they taught stays.
struct JobsForgotten {
  std::vector<JobId> jobs;  // in id order
  friend bool operator==(const JobsForgotten&, const JobsForgotten&) = default;
};

// Its server went on from a journal that had lost its end. No generation up to this one is given again,
// to any job: a worker of it may live.
struct JournalAccepted {
  std::uint64_t lost = 0;  // entries that were acknowledged and are missing, as far as is known
  Generation generation;
  friend bool operator==(const JournalAccepted&, const JournalAccepted&) = default;
};

// They were absent for long and hold nothing of any job: they leave the cluster. One that comes back
// joins as if for the first time, under the number it had.
struct NodesRetired {
  std::vector<NodeId> nodes;  // in id order
  friend bool operator==(const NodesRetired&, const NodesRetired&) = default;
};

// The node is to become empty, from now on or from the instant that the order names. It replaces an
// order of before; a drain that began goes on.
struct NodeDrained {
  NodeId node;
  DrainOrder order;
  Principal by;  // who asked
  friend bool operator==(const NodeDrained&, const NodeDrained&) = default;
};
struct DrainBegan {  // as it was announced
  NodeId node;
  friend bool operator==(const DrainBegan&, const DrainBegan&) = default;
};
struct NodeUndrained {  // jobs may start there again
  NodeId node;
  Principal by;
  friend bool operator==(const NodeUndrained&, const NodeUndrained&) = default;
};

// The node's machine is off: what ran there has ended.
struct NodeOff {
  NodeId node;
  std::string by;  // whose word it is
  friend bool operator==(const NodeOff&, const NodeOff&) = default;
};

// Workers that are to join a gang in place ran for as long as the server waits for them, and are not
// ready.
struct NewcomersLate {
  JobId job;
  Generation generation;  // that they were to join
  friend bool operator==(const NewcomersLate&, const NewcomersLate&) = default;
};

using Event =
    std::variant<NodeUp, NodeDown, JobSubmitted, JobRequested, RangeSet, PolicySet, WorkerStarted,
                 WorkerEnded, CheckpointAcknowledged, Progressed, TimeLimitReached, PolicyLoaded,
                 PolicyFailed, TrialBegan, TrialEnded, RulesSet, ClockSet, JobsForgotten,
                 JournalAccepted, NodesRetired, JobWarned, NodeDrained, DrainBegan, NodeUndrained,
                 WorkerReady, GangStands, NewcomersLate, ModelPublished, CheckpointKept, NodeOff>;

}  // namespace paceline
