#include "placement/stock.hpp"

#include <algorithm>

namespace paceline {

Stock::Stock(const Draft& draft, const Job& job, const Constraints& constraints, Wanted wanted)
    : draft_(draft),
      job_(job),
      constraints_(constraints),
      wanted_(std::move(wanted)),
      unit_workers_(job.spec->mesh.tensor),
      unit_slots_(job.slots(unit_workers_)) {
  const auto kinds = static_cast<std::uint32_t>(state().topology().kinds());
  for (std::uint32_t kind = 0; kind < kinds; ++kind) {
    if (serves(kind)) kinds_.push_back(kind);
  }
}

bool Stock::serves(std::uint32_t kind) const {
  const std::string& only_user = state().topology().user_of(kind);
  if (!only_user.empty() && only_user != job_.spec->user) return false;
  const auto& models = state().topology().models_of(kind);
  if (wanted_.model) return std::find(models.begin(), models.end(), *wanted_.model) != models.end();
  return true;
}

void Stock::keep(const Placement& seats) {
  for (const Seat& seat : seats) {
    ++kept_[seat.node];
    if (const auto reach = constraints_.apart())
      kept_apart_.insert(state().topology().domain(seat.node, *reach));
  }
}

std::vector<const Shelf*> Stock::shelves(const Area& area) const {
  std::vector<const Shelf*> found;
  for (const auto kind : kinds_) {
    const FreeSlots& free = draft_.free();
    const Shelf* shelf = area.level == Area::Level::cluster ? free.shelf(kind)
                         : area.level == Area::Level::rack  ? free.rack_shelf(area.number, kind)
                                                            : free.network_shelf(area.number, kind);
    if (shelf) found.push_back(shelf);
  }
  return found;
}

std::vector<std::uint32_t> Stock::slots_on(NodeId node) const {
  auto slots = draft_.free().first_free(node, draft_.free().free_on(node));
  const Topology& topology = state().topology();
  if (wanted_.model && topology.models_of(topology.site(node).kind).size() > 1) {
    const Node& held = *state().find_node(node);
    std::erase_if(slots,
                  [&](std::uint32_t i) { return held.slot_spec(i).model != *wanted_.model; });
  }
  return slots;
}

std::int32_t Stock::room_for_workers(NodeId node) const {
  const auto kept = kept_.find(node);
  const auto there = kept == kept_.end() ? 0 : kept->second;
  return std::max(constraints_.most_on(node) - there, 0);  // a node may have become smaller
}

std::int32_t Stock::units_on(NodeId node) const {
  const Topology& topology = state().topology();
  const bool pure = !wanted_.model || topology.models_of(topology.site(node).kind).size() == 1;
  const auto free = pure ? draft_.free().free_on(node) : slots_on(node).size();
  std::int32_t units = static_cast<std::int32_t>(free) / unit_slots_;
  if (units == 0) return 0;
  if (!constraints_.none()) {
    if (!constraints_.allows(node)) return 0;
    units = std::min(units, room_for_workers(node) / unit_workers_);
  }
  if (const auto reach = constraints_.apart()) {
    if (kept_apart_.contains(topology.domain(node, *reach))) return 0;
    units = std::min(units, 1);
  }
  if (wanted_.avoid_slow_downs && worst_neighbour(draft_.standing(), job_, node)) return 0;
  return units;
}

}  // namespace paceline
