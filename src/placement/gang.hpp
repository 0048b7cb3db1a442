// What pack and spread have in common: constraints, device models, neighbours that hurt, mesh
// groups, link islands, and resizes that move no worker that can stay. They differ in the nodes
// they take (search.hpp).
//
// - The slots of a gang are of one device model if any model has room for it; else, if the job
//   named none, of any. A gang of one model stays of one model when it grows.
// - A resize keeps every worker that it can. A gang that shrinks loses whole copies of its mesh,
//   those on the nodes where it has fewest workers; one that grows does so on its own nodes, then in
//   their rack, then behind their switch. A worker that lost its place takes its tensor group along
//   only if the group can't be completed on its node.
//   One that grows leaves seats that it may no longer have beside the others, as racks or switches were
//   named anew.
// - Nodes whose jobs are known to slow this one down by more than kSlowDownMax, or to be slowed
//   down by it, are avoided if as many other nodes will do.
//
// Cost: O(seats · log nodes), and O(racks) for a gang on several nodes; where constraints forbid
// nodes, O(nodes) at worst.
#pragma once

#include "placement/search.hpp"

namespace paceline {

class GangPlacer : public Placer {
 public:
  explicit GangPlacer(PlacingStyle style) : style_(style) {}
  std::optional<Placement> fit(const Draft& draft, const Job& job,
                               std::int32_t workers) const override;
  std::optional<Placement> refit(const Draft& draft, const Job& job, const Placement& seats,
                                 std::int32_t workers) const override;

 private:
  PlacingStyle style_;
};

// Seats for `workers` workers of a job that holds none, all on one given node; nothing if they
// don't fit or may not stand there.
std::optional<Placement> fit_on(const Draft& draft, const Job& job, std::int32_t workers,
                                NodeId node);

}  // namespace paceline
