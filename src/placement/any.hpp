// Any: the first free slots in node order serve, with no regard to links and models; a worker stays
// on one node. For comparisons with schedulers that count slots and nothing else. A job that asks
// for more than slots, or is kept off by one that does, is packed: the check would refuse the plan
// of a whole round for its sake.
//
// Cost: O(seats · log nodes).
#pragma once

#include "placement/pack.hpp"

namespace paceline {

class AnyPlacer : public Placer {
 public:
  std::optional<Placement> fit(const Draft& draft, const Job& job,
                               std::int32_t workers) const override;
  std::optional<Placement> refit(const Draft& draft, const Job& job, const Placement& seats,
                                 std::int32_t workers) const override;

 private:
  PackPlacer pack_;
};

// Seats for `workers` workers on the first free slots of one node. REQUIRES: it has that many.
Placement seats_on(const FreeSlots& free, NodeId node, std::int32_t workers,
                   std::int32_t slots_per_worker);

}  // namespace paceline
