// What becomes of pilots: how many nodes are wanted, and what to do so that there are as many. It is a
// function of a small summary, made anew whenever Slurm was asked; what is done is found again in the
// next summary, so nothing is done twice, whoever forgot what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "slurm/pilot.hpp"
#include "slurm/settings.hpp"

namespace paceline {

// What waits and runs, in slots.
struct Demand {
  // Of jobs that are not over and not held: what those that run have and those that wait ask for. A job
  // whose smallest size is beyond what all pilots together bring, or that needs longer than they last, is not
  // counted while it waits.
  std::uint64_t needed = 0;
  std::uint64_t wanted = 0;  // the same, with what jobs that grow by themselves could use besides
  std::uint64_t there = 0;   // of nodes that start jobs, pilots' and others
};

// The node that a pilot's agent made, as the server sees it.
struct PilotNode {
  std::string name;
  bool up = false;
  bool draining = false;   // it is to become empty, or is announced to
  bool begun = false;      // nothing starts there any more
  bool busy = false;       // workers stand on it, or are on their way there
  Duration idle_for = {};  // nothing ran there for so long
  std::uint64_t slots = 0;
  friend bool operator==(const PilotNode&, const PilotNode&) = default;
};

struct KnownPilot {
  std::uint32_t invitation = 0;
  std::optional<Pilot> pilot = {};     // as Slurm lists it; nothing: it doesn't
  std::optional<PilotNode> node = {};  // nothing: its agent never joined
  Duration asked_for = {};             // so long ago
  bool requeued = false;  // it ran, and Slurm lets it wait again, though its token is used up
  bool outdated = false;  // it was asked for by settings that hold no more
  friend bool operator==(const KnownPilot&, const KnownPilot&) = default;
};

// ---- what to do ----
struct AskFor {  // pilots
  std::uint32_t count = 0;
  friend bool operator==(const AskFor&, const AskFor&) = default;
};
struct GiveBack {  // one that Slurm lists
  std::uint64_t job = 0;
  friend bool operator==(const GiveBack&, const GiveBack&) = default;
};
struct DrainPilot {
  std::string node;
  std::string why;       // one line for everybody
  Duration begins_in{};  // nothing starts there from then on
  std::optional<Duration>
      ends_in{};  // what is there still is stopped then; nothing: it is waited for
  friend bool operator==(const DrainPilot&, const DrainPilot&) = default;
};
// Slurm can't say whether its workers are gone: a node failed, or Slurm forgot the job. Nothing starts there any
// more; what is heard leaves, and what isn't ends with the node's lease.
struct LeaveToLease {
  std::string node;
  std::string why;  // as of CountOver
  friend bool operator==(const LeaveToLease&, const LeaveToLease&) = default;
};
struct CountOver {  // its workers are gone, its invitation is worth nothing
  std::uint32_t invitation = 0;
  std::string why;  // "job 8123, TIMEOUT"
  bool joined = false;
  friend bool operator==(const CountOver&, const CountOver&) = default;
};
using PilotAction = std::variant<AskFor, GiveBack, DrainPilot, LeaveToLease, CountOver>;

// So long after it was asked for, a pilot that Slurm doesn't list is over.
inline constexpr Duration kListedWithin = std::chrono::seconds{60};
// How long before its time limit a pilot drains, and is empty: at most these, and these parts of the limit.
inline constexpr Duration kDrainsBefore = std::chrono::minutes{15},
                          kEmptyBefore = std::chrono::minutes{3};
inline constexpr int kDrainsBeforePart = 3, kEmptyBeforePart = 6;
// What jobs get to leave the pilots in after 'slurm disconnect'.
inline constexpr Duration kLeavesWithin = std::chrono::minutes{2};

// How long jobs start on a pilot's node: until it drains before its limit.
Duration lasts(const PilotSettings& settings);

// How many pilots there should be beside the nodes that are there and those that come.
std::uint32_t pilots_wanted(const Demand& demand, const PilotSettings& settings);

// `pilots`: all that Slurm lists by this server's name, and all that were invited and are not counted over.
// `leaving`: Slurm is to be left. `may_ask`: nothing is asked for otherwise.
struct Situation {
  PilotSettings settings = {};
  Demand demand = {};
  std::vector<KnownPilot> pilots = {};
  bool leaving = false;
  bool may_ask = true;
};
std::vector<PilotAction> reconcile(const Situation& situation);

}  // namespace paceline
