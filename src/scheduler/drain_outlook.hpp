// What draining nodes would do, for the operator who is about to say so: which jobs leave at once, which
// stay for a while, and what it costs.
//
//   const auto outlook = outlook_of_drain(snapshot, nodes, {.within = 30min}, round);
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/decide.hpp"
#include "scheduler/departures.hpp"

namespace paceline {

enum class Leaving {
  at_once,    // it goes on elsewhere, or smaller
  saving,     // it does once it saved, or at `at`
  stopped,    // it is stopped at `at`, unless it ends, or finds room elsewhere, before
  by_itself,  // nothing makes it leave but its end, or room elsewhere
  kept        // it need not leave
};

struct Leaver {
  JobId job;
  Leaving how = Leaving::at_once;
  std::int32_t from = 0, to = 0;  // workers
  std::optional<Time> at = {};
  bool anew = false;  // it never saved: stopped, it begins anew
  double lost_slot_seconds =
      0;  // work that is done again, and the pause, as far as can be said now
};

struct DrainOutlook {
  std::int64_t slots = 0;  // usable ones of the nodes
  bool is_last = false;    // no other node that is up starts anything
  Time begins;
  std::optional<Time> ends;
  std::vector<Leaver> jobs;  // in the order of the queue

  [[nodiscard]] double lost_slot_seconds() const;
};

// How the server decides rounds.
struct RoundBy {
  Decider decider;
  const Placer& placer;
  Protects protects;
};

// Of nodes that are drained together, each by the order. Of a drain that is announced: as if it began now. Of a job
// that was never told to leave the notice's time isn't known, nor whether it saves then: work that is unsaved counts
// as lost. REQUIRES: the nodes exist.
DrainOutlook outlook_of_drain(const Snapshot& snapshot, std::span<const NodeId> nodes,
                              const DrainOrder& order, const RoundBy& round,
                              const Departures& departures = {});

}  // namespace paceline
