#include "placement/any.hpp"

#include <algorithm>

#include "placement/what_if.hpp"
#include "plan/constraints.hpp"

namespace paceline {
namespace {

bool counts_slots_only(const Draft& draft, const Job& job) {
  return job.spec->mesh.step() == 1 &&
         Constraints(draft.standing(), job, draft.snapshot().now, kAllPreferred).none();
}

bool add_seats(const FreeSlots& free, std::int32_t per_worker, std::int32_t workers,
               Placement& seats) {
  NodeId from{0};
  while (workers > 0) {
    const auto node = free.next_from(from, static_cast<std::uint32_t>(per_worker));
    if (!node) return false;
    const auto room = static_cast<std::int32_t>(free.free_on(*node)) / per_worker;
    const auto here = std::min(workers, room);
    const auto more = seats_on(free, *node, here, per_worker);
    seats.insert(seats.end(), more.begin(), more.end());
    workers -= here;
    from = NodeId{node->value + 1};
  }
  return true;
}

}  // namespace

Placement seats_on(const FreeSlots& free, NodeId node, std::int32_t workers,
                   std::int32_t slots_per_worker) {
  const auto per_worker = static_cast<std::size_t>(slots_per_worker);
  const auto slots = free.first_free(node, static_cast<std::uint32_t>(workers * slots_per_worker));
  Placement seats(static_cast<std::size_t>(workers));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    seats[i / per_worker].node = node;
    seats[i / per_worker].slots.push_back(slots[i]);
  }
  return seats;
}

std::optional<Placement> AnyPlacer::fit(const Draft& draft, const Job& job,
                                        std::int32_t workers) const {
  if (!counts_slots_only(draft, job)) return pack_.fit(draft, job, workers);
  Placement seats;
  if (!add_seats(draft.free(), job.spec->slots_per_worker, workers, seats)) return std::nullopt;
  return seats;
}

std::optional<Placement> AnyPlacer::refit(const Draft& draft, const Job& job,
                                          const Placement& seats, std::int32_t workers) const {
  if (!counts_slots_only(draft, job)) return pack_.refit(draft, job, seats, workers);
  const auto kept = std::min(seats.size(), static_cast<std::size_t>(workers));
  Placement found(seats.begin(), seats.begin() + static_cast<std::ptrdiff_t>(kept));
  SupposedSeats what_if(draft);
  what_if.take(found);
  const auto more = workers - static_cast<std::int32_t>(kept);
  if (!add_seats(draft.free(), job.spec->slots_per_worker, more, found)) return std::nullopt;
  return found;
}

}  // namespace paceline
