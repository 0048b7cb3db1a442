// What a search for seats has to choose from: the free slots of one device model (or of all), on the
// nodes that the job's constraints allow. Counted in units: the workers that can't be parted, one
// tensor group each. For the .cpp files of placement/ alone.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plan/constraints.hpp"
#include "plan/draft.hpp"

namespace paceline {

// A part of the cluster that is searched.
struct Area {
  enum class Level { cluster, network, rack };
  Level level = Level::cluster;
  std::uint32_t number = 0;  // of the rack or switch
};

class Stock {
 public:
  struct Wanted {
    std::optional<std::string> model;  // nothing: slots of any model serve together
    bool avoid_slow_downs = false;     // nodes whose jobs are known to slow this one down are out
  };

  Stock(const Draft& draft, const Job& job, const Constraints& constraints, Wanted wanted);

  // Workers of the job that keep their seats: they count where cores, memory or distance do.
  void keep(const Placement& seats);

  [[nodiscard]] const State& state() const { return draft_.snapshot().state; }
  [[nodiscard]] const Constraints& constraints() const { return constraints_; }
  [[nodiscard]] std::int32_t unit_slots() const { return unit_slots_; }
  [[nodiscard]] std::int32_t unit_workers() const { return unit_workers_; }
  [[nodiscard]] std::int32_t slots_per_worker() const { return unit_slots_ / unit_workers_; }

  // How many more units the node holds; 0 where none may stand.
  [[nodiscard]] std::int32_t units_on(NodeId node) const;
  // The free slots of the node that serve, ascending.
  [[nodiscard]] std::vector<std::uint32_t> slots_on(NodeId node) const;
  // Where its nodes lie, by how many slots of any model they have free.
  [[nodiscard]] std::vector<const Shelf*> shelves(const Area& area) const;

 private:
  [[nodiscard]] bool serves(std::uint32_t kind) const;
  [[nodiscard]] std::int32_t room_for_workers(NodeId node) const;

  const Draft& draft_;
  const Job& job_;
  const Constraints& constraints_;
  Wanted wanted_;
  std::int32_t unit_workers_, unit_slots_;
  std::vector<std::uint32_t> kinds_;
  std::map<NodeId, std::int32_t> kept_;  // workers
  std::set<std::uint32_t> kept_apart_;   // domains no other unit may stand in
};

// Visits nodes with at least `least` free slots, those with fewest first (up) or with most first
// (down), equals in id order, until `visit` says false.
template <class Visit>
bool visit_level(const std::vector<const Shelf*>& shelves, std::size_t count, Visit& visit) {
  using Nodes = std::set<NodeId>;
  if (shelves.size() == 1) {
    const auto& by_count = shelves[0]->by_count();
    return count >= by_count.size() ||
           std::all_of(by_count[count].begin(), by_count[count].end(), visit);
  }
  std::vector<std::pair<Nodes::const_iterator, Nodes::const_iterator>> open;
  for (const Shelf* shelf : shelves) {
    if (count >= shelf->by_count().size() || shelf->by_count()[count].empty()) continue;
    open.emplace_back(shelf->by_count()[count].begin(), shelf->by_count()[count].end());
  }
  while (!open.empty()) {
    auto next = std::min_element(open.begin(), open.end(),
                                 [](const auto& a, const auto& b) { return *a.first < *b.first; });
    if (!visit(*next->first)) return false;
    if (++next->first == next->second) open.erase(next);
  }
  return true;
}

inline std::size_t highest_level(const std::vector<const Shelf*>& shelves) {
  std::size_t highest = 0;
  for (const Shelf* shelf : shelves) highest = std::max(highest, shelf->by_count().size());
  return highest;
}

template <class Visit>
void visit_up(const std::vector<const Shelf*>& shelves, std::int32_t least, Visit visit) {
  const auto end = highest_level(shelves);
  for (auto count = static_cast<std::size_t>(least); count < end; ++count) {
    if (!visit_level(shelves, count, visit)) return;
  }
}

template <class Visit>
void visit_down(const std::vector<const Shelf*>& shelves, std::int32_t least, Visit visit) {
  for (auto count = highest_level(shelves); count > static_cast<std::size_t>(least);) {
    if (!visit_level(shelves, --count, visit)) return;
  }
}

}  // namespace paceline
