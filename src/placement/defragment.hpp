// Room by moving: a job finds no seats although enough slots are free, because they are free in the
// wrong places. A few running jobs may stand elsewhere as well.
//
//   if (auto room = make_room(draft, waiting, workers)) {
//     draft.begin_trade();
//     draft.resize_together(room->moves, {ReasonCode::moves_for, {waiting.id.value}, {}}, waiting.id);
//     draft.start(waiting.id, room->seats, …);
//     draft.end_trade();
//   }
//
// Bounded: the kMoversMax repackable jobs with fewest workers on nodes that the waiting job may use,
// at most kMovesMax of them at a time, the fewest jobs first and of those the fewest moved workers.
//
// Cost: O(running jobs), and at most a few hundred fits.
#pragma once

#include "placement/repack.hpp"

namespace paceline {

inline constexpr std::size_t kMoversMax = 12;
inline constexpr std::size_t kMovesMax = 2;

struct Rearranged {
  Placement seats;  // of the waiting job
  std::vector<Draft::Resized> moves;
  std::int32_t moved = 0;  // workers
};

// Nothing if slots are short, or no such moves make room. REQUIRES: the job waits, and fit() finds
// it no seats.
std::optional<Rearranged> make_room(Draft& draft, const Job& job, std::int32_t workers);

}  // namespace paceline
