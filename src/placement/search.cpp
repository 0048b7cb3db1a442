#include "placement/search.hpp"

#include <algorithm>

#include "placement/node_slots.hpp"

namespace paceline {
namespace {

constexpr Area kCluster{};
// How many nodes that hold a gang are compared by the links between its slots there.
constexpr int kLooksMax = 16;

bool taken(const Loads& loads, NodeId node) {
  return std::any_of(loads.begin(), loads.end(), [&](const Load& l) { return l.node == node; });
}

// Nodes one after the other, never two in one domain of what has to be apart.
class Collector {
 public:
  Collector(const Stock& stock, std::int32_t units) : stock_(stock), left_(units) {}

  [[nodiscard]] std::int32_t left() const { return left_; }
  [[nodiscard]] Loads& loads() { return loads_; }

  [[nodiscard]] std::int32_t room(NodeId node) const {
    const auto reach = stock_.constraints().apart();
    if (reach && used_.contains(stock_.state().topology().domain(node, *reach))) return 0;
    return stock_.units_on(node);
  }

  // Returns whether there is more to place.
  bool take(NodeId node, std::int32_t units) {
    loads_.push_back({node, units});
    left_ -= units;
    if (const auto reach = stock_.constraints().apart())
      used_.insert(stock_.state().topology().domain(node, *reach));
    return left_ > 0;
  }

 private:
  const Stock& stock_;
  std::int32_t left_;
  Loads loads_;
  std::set<std::uint32_t> used_;
};

// Nodes of one rack may name different switches, or none.
bool are_near(const Topology& topology, const Loads& loads, Reach reach) {
  return std::ranges::all_of(loads, [&](const Load& load) {
    return topology.domain(load.node, reach) == topology.domain(loads.front().node, reach);
  });
}

class Search {
 public:
  Search(const Stock& stock, PlacingStyle style) : stock_(stock), style_(style) {}

  std::optional<Loads> anywhere(std::int32_t units) const {
    const auto together = stock_.constraints().together();
    if (style_ == PlacingStyle::pack || units == 1 || together == Reach::node) {
      if (auto one = on_one_node(kCluster, units)) return one;
    }
    if (units == 1 || together == Reach::node) return std::nullopt;
    const auto far = in(kCluster, units);
    if (!far) return std::nullopt;
    return together ? near_as_asked(*together, units) : near_if_as_good(*far, units);
  }

  std::optional<Loads> in(const Area& area, std::int32_t units) const {
    return style_ == PlacingStyle::pack ? packed(area, units) : spread(area, units);
  }

 private:
  // ---- one node ----
  std::optional<Loads> on_one_node(const Area& area, std::int32_t units) const {
    const auto shelves = stock_.shelves(area);
    if (style_ == PlacingStyle::pack) return nearest_links(shelves, units);
    std::optional<Loads> found;
    visit_down(shelves, units * stock_.unit_slots(), [&](NodeId node) {
      if (stock_.units_on(node) >= units) found = Loads{{node, units}};
      return !found;
    });
    return found;
  }

  // The tightest node whose slots are nearest to each other.
  std::optional<Loads> nearest_links(const std::vector<const Shelf*>& shelves,
                                     std::int32_t units) const {
    std::optional<Loads> found;
    Links best;
    int looks = 0;
    visit_up(shelves, units * stock_.unit_slots(), [&](NodeId node) {
      if (stock_.units_on(node) < units) return true;
      const Links links = links_on(node, units);
      if (!found || links < best) {
        found = Loads{{node, units}};
        best = links;
      }
      return best > Links{1, 1} && ++looks < kLooksMax;
    });
    return found;
  }

  Links links_on(NodeId node, std::int32_t units) const {
    if (stock_.state().topology().site(node).flat) return {1, 1};
    return links_of(stock_.state(), seats_on_node(stock_, node, units));
  }

  // ---- several nodes ----
  std::optional<Loads> packed(const Area& area, std::int32_t units) const {
    const auto shelves = stock_.shelves(area);
    if (!nodes_at_least(shelves, units)) return std::nullopt;
    Collector collector(stock_, units);
    const auto take = [&](NodeId node) {
      const auto room = collector.room(node);
      if (room == 0) return true;
      if (room < collector.left()) return collector.take(node, room);
      return collector.take(tightest(shelves, collector).value_or(node), collector.left());
    };
    if (stock_.constraints().apart())
      visit_up(shelves, stock_.unit_slots(), take);
    else
      visit_down(shelves, stock_.unit_slots(), take);
    if (collector.left() > 0) return std::nullopt;
    return std::move(collector.loads());
  }

  // Where what is left of the gang leaves least behind.
  std::optional<NodeId> tightest(const std::vector<const Shelf*>& shelves,
                                 Collector& collector) const {
    std::optional<NodeId> found;
    visit_up(shelves, collector.left() * stock_.unit_slots(), [&](NodeId node) {
      if (!taken(collector.loads(), node) && collector.room(node) >= collector.left()) found = node;
      return !found;
    });
    return found;
  }

  // As even as the nodes allow: no node gets one more before every node that can has as many.
  std::optional<Loads> spread(const Area& area, std::int32_t units) const {
    Collector collector(stock_, units);
    const auto shelves = stock_.shelves(area);
    if (!nodes_at_least(shelves, units)) return std::nullopt;
    std::vector<std::int32_t> rooms;
    visit_down(shelves, stock_.unit_slots(), [&](NodeId node) {
      const auto room = collector.room(node);
      if (room == 0) return true;
      rooms.push_back(room);
      return collector.take(node, 1);
    });
    Loads loads = std::move(collector.loads());
    auto left = collector.left();
    for (std::int32_t level = 2; left > 0; ++level) {
      const auto before = left;
      for (std::size_t i = 0; i < loads.size() && left > 0; ++i) {
        if (rooms[i] < level) continue;
        ++loads[i].units;
        --left;
      }
      if (left == before) return std::nullopt;
    }
    return loads;
  }

  // The nodes that a gang needs at least, if nothing but free slots counted; nothing: too few are
  // free, whatever the constraints.
  std::optional<std::int64_t> nodes_at_least(const std::vector<const Shelf*>& shelves,
                                             std::int32_t units) const {
    const auto unit = static_cast<std::size_t>(stock_.unit_slots());
    std::int64_t nodes = 0, left = units;
    for (auto n = highest_level(shelves); left > 0 && n-- > unit;) {
      const auto room = static_cast<std::int64_t>(n / unit);
      for (const Shelf* shelf : shelves) {
        if (n >= shelf->by_count().size() || left <= 0) continue;
        const auto there = static_cast<std::int64_t>(shelf->by_count()[n].size());
        const auto taken_here = std::min(there, (left + room - 1) / room);
        nodes += taken_here;
        left -= taken_here * room;
      }
    }
    if (left > 0) return std::nullopt;
    return nodes;
  }

  // ---- near each other ----
  Loads near_if_as_good(const Loads& far, std::int32_t units) const {
    for (const auto level : {Area::Level::rack, Area::Level::network}) {
      for (const Area& area : areas(level, units, cost(far))) {
        auto near = in(area, units);
        if (near && cost(*near) <= cost(far)) return std::move(*near);
      }
    }
    return far;
  }

  // The best of the racks, of the switches too if they are near enough; a node that names neither
  // is alone with itself.
  std::optional<Loads> near_as_asked(Reach together, std::int32_t units) const {
    std::optional<Loads> best;
    const auto take = [&](std::optional<Loads> loads) {
      if (!loads || (best && cost(*loads) >= cost(*best))) return;
      if (are_near(stock_.state().topology(), *loads, together)) best = std::move(loads);
    };
    for (const Area& area : areas(Area::Level::rack, units, units)) take(in(area, units));
    if (together == Reach::network_switch) {
      for (const Area& area : areas(Area::Level::network, units, units)) take(in(area, units));
    }
    if (!best) take(on_one_node(kCluster, units));
    return best;
  }

  // Racks or switches that might hold the gang, packed on so many nodes: the tightest first (pack),
  // or the emptiest (spread).
  std::vector<Area> areas(Area::Level level, std::int32_t units, std::int64_t nodes) const {
    const Topology& topology = stock_.state().topology();
    const auto& names = level == Area::Level::rack ? topology.racks() : topology.networks();
    std::vector<std::pair<std::uint64_t, Area>> found;
    for (const auto& [name, number] : names) {
      const Area area{level, number};
      const auto shelves = stock_.shelves(area);
      const auto least = nodes_at_least(shelves, units);
      if (!least || (style_ == PlacingStyle::pack && *least > nodes)) continue;
      std::uint64_t total = 0;
      for (const Shelf* shelf : shelves) total += shelf->total();
      found.emplace_back(total, area);
    }
    std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
      return style_ == PlacingStyle::pack ? a.first < b.first : a.first > b.first;
    });
    std::vector<Area> sorted;
    sorted.reserve(found.size());
    for (const auto& [total, area] : found) sorted.push_back(area);
    return sorted;
  }

  std::int64_t cost(const Loads& loads) const {
    if (style_ == PlacingStyle::pack) return static_cast<std::int64_t>(loads.size());
    std::int64_t most = 0;
    for (const Load& load : loads) most = std::max<std::int64_t>(most, load.units);
    return most;
  }

  const Stock& stock_;
  PlacingStyle style_;
};

}  // namespace

std::optional<Loads> find_nodes(const Stock& stock, PlacingStyle style, std::int32_t units) {
  return Search(stock, style).anywhere(units);
}

std::optional<Loads> find_nodes_in(const Stock& stock, PlacingStyle style, const Area& area,
                                   std::int32_t units) {
  return Search(stock, style).in(area, units);
}

}  // namespace paceline
