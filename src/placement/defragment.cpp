#include "placement/defragment.hpp"

#include <algorithm>

#include "placement/what_if.hpp"
#include "plan/constraints.hpp"

namespace paceline {
namespace {

using Movers = std::vector<Given>;

bool in_the_way(const Constraints& constraints, const Placement& seats) {
  return std::any_of(seats.begin(), seats.end(),
                     [&](const Seat& seat) { return constraints.allows(seat.node); });
}

Movers find_movers(Draft& draft, const Job& job) {
  const Snapshot& snapshot = draft.snapshot();
  const Constraints constraints(draft.standing(), job, snapshot.now, kAllPreferred);
  Movers found;
  for (const auto& key : snapshot.state.active()) {
    const Job& other = snapshot.state.job(key.job);
    if (!repackable(draft, other)) continue;
    const auto workers = other.current->size();
    auto seats = draft.seats(other.id);
    if (in_the_way(constraints, seats) &&
        draft.may_change(other.id, ChangeKind::move, workers, Owed::no))
      found.push_back({other.id, std::move(seats), workers});
  }
  std::sort(found.begin(), found.end(), [](const Given& a, const Given& b) {
    return std::pair{a.workers, a.job} < std::pair{b.workers, b.job};
  });
  if (found.size() > kMoversMax) found.resize(kMoversMax);
  return found;
}

std::optional<Rearranged> room_by(const Draft& draft, const Job& job, std::int32_t workers,
                                  const Movers& movers) {
  SupposedSeats what_if(draft);
  for (const Given& mover : movers) what_if.give(mover.seats);
  auto seats = draft.fit(job.id, workers);
  if (!seats) return std::nullopt;
  what_if.take(*seats);
  auto repacked = repack_given(draft, movers);
  if (!repacked) return std::nullopt;
  return Rearranged{std::move(*seats), std::move(repacked->jobs), repacked->moved};
}

// The best of all choices of so many of the movers, from the one at `from` on.
void try_all(const Draft& draft, const Job& job, std::int32_t workers, const Movers& movers,
             std::size_t from, std::size_t more, Movers& chosen, std::optional<Rearranged>& best) {
  if (more == 0) {
    auto room = room_by(draft, job, workers, chosen);
    if (room && (!best || room->moved < best->moved)) best = std::move(room);
    return;
  }
  for (std::size_t i = from; i + more <= movers.size(); ++i) {
    chosen.push_back(movers[i]);
    try_all(draft, job, workers, movers, i + 1, more - 1, chosen, best);
    chosen.pop_back();
  }
}

}  // namespace

std::optional<Rearranged> make_room(Draft& draft, const Job& job, std::int32_t workers) {
  if (static_cast<std::uint64_t>(job.slots(workers)) > draft.free().total()) return std::nullopt;
  const Movers movers = find_movers(draft, job);
  std::optional<Rearranged> best;
  Movers chosen;
  for (std::size_t count = 1; count <= kMovesMax && !best; ++count)
    try_all(draft, job, workers, movers, 0, count, chosen, best);
  return best;
}

}  // namespace paceline
