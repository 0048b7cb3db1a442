// A node that is to become empty, by its operator's word: for a repair, a new kernel, a move.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "model/principal.hpp"

namespace paceline {

inline constexpr std::size_t kDrainReasonMax = 256;

// What the operator says. Of `until` and `within` at most one is given. With neither the node waits
// for as long as its jobs take.
struct DrainOrder {
  std::string reason = {};              // one line for everybody, at most kDrainReasonMax; or empty
  std::optional<WallTime> from = {};    // it begins then, and is announced before; nothing: now
  std::optional<WallTime> until = {};   // the jobs that are there still are stopped then
  std::optional<Duration> within = {};  // the same, so long after it begins
  bool keeps = false;                   // nothing new starts; what runs there stays
  // Of the node's time: each of its kind has such a limit. A job that goes on from what it saved starts there
  // before it, though it needs longer.
  bool limit = false;
  friend bool operator==(const DrainOrder&, const DrainOrder&) = default;
};

// From `begun_at` on nothing starts there, and what runs there leaves (plan/draining.hpp).
struct Drain {
  DrainOrder order;
  Principal by;
  std::optional<Time> begun_at = {};  // nothing: it is announced only
  friend bool operator==(const Drain&, const Drain&) = default;
};

}  // namespace paceline
