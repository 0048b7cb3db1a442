// Any: the first free slots in node order serve, with no regard to links, models or constraints; a
// worker stays on one node. For comparisons with schedulers that count slots and nothing else. The
// check refuses what it gives to a job whose constraints it breaks.
//
// Cost: O(seats · log nodes).
#pragma once

#include "plan/draft.hpp"

namespace paceline {

class AnyPlacer : public Placer {
 public:
  std::optional<Placement> fit(const Draft& draft, const Job& job,
                               std::int32_t workers) const override;
  std::optional<Placement> refit(const Draft& draft, const Job& job, const Placement& seats,
                                 std::int32_t workers) const override;
};

// Seats for `workers` workers on the first free slots of one node. REQUIRES: it has that many.
Placement seats_on(const FreeSlots& free, NodeId node, std::int32_t workers,
                   std::int32_t slots_per_worker);

}  // namespace paceline
