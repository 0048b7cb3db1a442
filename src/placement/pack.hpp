// Pack: as few nodes as possible, best fit against fragmentation. A gang goes to the fullest node
// that holds it whole, else the emptiest nodes are filled one after the other. A worker never spans
// nodes. A resize keeps the seats it can: only the difference moves.
//
// Cost: O(seats · log nodes).
#pragma once

#include "plan/draft.hpp"

namespace paceline {

class PackPlacer : public Placer {
 public:
  std::optional<Placement> fit(const Draft& draft, const Job& job,
                               std::int32_t workers) const override;
  std::optional<Placement> refit(const Draft& draft, const Job& job, const Placement& seats,
                                 std::int32_t workers) const override;
};

// Seats for `workers` workers on one given node. REQUIRES: it has that many free slots.
Placement seats_on(const FreeSlots& free, NodeId node, std::int32_t workers,
                   std::int32_t slots_per_worker);

}  // namespace paceline
