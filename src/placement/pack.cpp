#include "placement/pack.hpp"

#include <algorithm>
#include <map>

namespace paceline {
namespace {

// Takes seats from the draft's free slots in a what-if, so that seats found one after the other
// never overlap.
class Packing {
 public:
  Packing(FreeSlots& free, std::int32_t slots_per_worker)
      : free_(free),
        per_worker_(static_cast<std::uint32_t>(slots_per_worker)),
        mark_(free.mark()) {}
  ~Packing() { free_.rewind(mark_); }
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  void occupy(const Seat& seat) {
    for (const auto index : seat.slots) free_.set_free({seat.node, index}, false);
  }

  void place_on(NodeId node, std::int32_t workers, Placement& into) {
    auto seats = seats_on(free_, node, workers, static_cast<std::int32_t>(per_worker_));
    for (auto& seat : seats) {
      occupy(seat);
      into.push_back(std::move(seat));
    }
  }

  std::int32_t room_on(NodeId node) const {
    return static_cast<std::int32_t>(free_.free_on(node) / per_worker_);
  }

  bool place(std::int32_t workers, Placement& into) {
    while (workers > 0) {
      const auto whole = free_.best_fit(static_cast<std::uint32_t>(workers) * per_worker_);
      const auto node = whole ? whole : free_.emptiest(per_worker_);
      if (!node) return false;
      const auto here = std::min(workers, room_on(*node));
      place_on(*node, here, into);
      workers -= here;
    }
    return true;
  }

 private:
  FreeSlots& free_;
  std::uint32_t per_worker_;
  FreeSlots::Mark mark_;
};

// Nodes with most of the gang's workers first: the last seats are the first to go, the first nodes
// the first to grow on.
std::vector<NodeId> nodes_by_use(const Placement& seats) {
  std::map<NodeId, int> use;
  for (const Seat& seat : seats) ++use[seat.node];
  std::vector<NodeId> nodes;
  for (const auto& [node, count] : use) nodes.push_back(node);
  std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return use[a] > use[b]; });
  return nodes;
}

Placement shrunk(const Placement& seats, std::size_t workers) {
  Placement kept;
  for (const NodeId node : nodes_by_use(seats)) {
    for (const Seat& seat : seats) {
      if (kept.size() < workers && seat.node == node) kept.push_back(seat);
    }
  }
  return kept;
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

std::optional<Placement> PackPlacer::fit(const Draft& draft, const Job& job,
                                         std::int32_t workers) const {
  Packing packing(draft.snapshot().state.free_slots(), job.spec->slots_per_worker);
  Placement seats;
  if (!packing.place(workers, seats)) return std::nullopt;
  return seats;
}

std::optional<Placement> PackPlacer::refit(const Draft& draft, const Job& job,
                                           const Placement& seats, std::int32_t workers) const {
  if (static_cast<std::size_t>(workers) <= seats.size())
    return shrunk(seats, static_cast<std::size_t>(workers));
  Packing packing(draft.snapshot().state.free_slots(), job.spec->slots_per_worker);
  Placement grown = seats;
  for (const Seat& seat : seats) packing.occupy(seat);
  auto more = workers - static_cast<std::int32_t>(seats.size());
  for (const NodeId node : nodes_by_use(seats)) {
    const auto here = std::min(more, packing.room_on(node));
    if (here > 0) packing.place_on(node, here, grown);
    more -= std::max(here, 0);
  }
  if (!packing.place(more, grown)) return std::nullopt;
  return grown;
}

}  // namespace paceline
