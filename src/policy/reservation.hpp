// Slots that are kept for one waiting job until it fits on them. They are chosen once, where the
// running jobs that are likely to end first leave room, and then stay the same, so that no job that
// comes later can put this one off. A policy remembers them as a text.
//
// Cost: to choose O(running · log running) and a few placements; to look at O(its slots).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/draft.hpp"

namespace paceline {

struct Reservation {
  JobId job;
  std::int32_t workers = 0;   // it would start with
  Time since;                 // it was chosen, or looked at anew
  std::int32_t renewals = 0;  // how often it was looked at anew
  Time due;                   // when all slots were likely to be free then; 0: unknown
  std::vector<SlotId> slots;  // in order

  [[nodiscard]] std::string text() const;
  // Nothing: it is no such text.
  static std::optional<Reservation> parse(std::string_view text);
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

// When slots are likely to be free.
struct Outlook {
  std::size_t free = 0;       // of them are by now
  std::optional<Time> at;     // when the last of them is; nothing: unknown
  std::optional<JobId> last;  // the job that leaves it
  Time youngest_unknown;      // when the last job of unknown length began that stands there
  friend bool operator==(const Outlook&, const Outlook&) = default;
};

Outlook outlook(const Draft& draft, const std::vector<SlotId>& slots);

// When the job's slots are likely to be free: its length or its time limit is over. Nothing:
// unknown.
std::optional<Time> likely_end(const std::vector<Node>& nodes, const Job& job, Time now);

// What is kept: the seats, or also what else their nodes have, where neighbours are in the way.
enum class Keeps { seats, nodes };

// The slots on which the job will fit first with so many workers, if no other job starts there; of
// an exclusive job whole nodes. Nothing: it won't, even if all running jobs leave.
std::optional<Reservation> reserve(const Draft& draft, const Job& job, std::int32_t workers,
                                   Keeps keeps = Keeps::seats);

// Are all of its slots still there for the job?
bool holds(const State& state, const Reservation& reservation);

}  // namespace paceline
