#include "placement/gang.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "estimate/interference.hpp"
#include "model/kind.hpp"
#include "placement/node_slots.hpp"
#include "placement/what_if.hpp"

namespace paceline {
namespace {

std::set<NodeId> nodes_of(const Placement& seats) {
  std::set<NodeId> nodes;
  for (const Seat& seat : seats) nodes.insert(seat.node);
  return nodes;
}

std::map<NodeId, std::int32_t> workers_by_node(const Placement& seats) {
  std::map<NodeId, std::int32_t> workers;
  for (const Seat& seat : seats) ++workers[seat.node];
  return workers;
}

// Nodes with most of the gang's workers first.
std::vector<NodeId> nodes_by_use(const Placement& seats) {
  const auto use = workers_by_node(seats);
  std::vector<NodeId> nodes;
  nodes.reserve(use.size());
  for (const auto& [node, count] : use) nodes.push_back(node);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](NodeId a, NodeId b) { return use.at(a) > use.at(b); });
  return nodes;
}

// The model of all the seats, if it is one.
std::optional<std::string> model_of(const State& state, const Placement& seats) {
  std::optional<std::string> model;
  for (const Seat& seat : seats) {
    for (const auto index : seat.slots) {
      const auto& here = state.find_node(seat.node)->slot_spec(index).model;
      if (model && *model != here) return std::nullopt;
      model = here;
    }
  }
  return model;
}

void append(Placement& seats, const Placement& more) {
  seats.insert(seats.end(), more.begin(), more.end());
}

// Seats on the nodes of a search, which leaves the free slots as they are.
Placement seats_for(const Stock& stock, const Loads& loads) {
  Placement seats;
  for (const Load& load : loads) append(seats, seats_on_node(stock, load.node, load.units));
  return seats;
}

// ---- a first fit ----

class Fitting {
 public:
  Fitting(const Draft& draft, const Job& job, PlacingStyle style, std::int32_t workers)
      : draft_(draft), job_(job), style_(style), units_(workers / job.spec->mesh.tensor) {}

  std::optional<Placement> fit(const Constraints& constraints) const {
    auto seats = in_peace_or_not(constraints, false);
    const auto& interference = draft_.snapshot().state.interference();
    if (!seats || interference.pairs.empty() || !knows(interference, kind_of(*job_.spec)) ||
        !hurts(*seats))
      return seats;
    auto calm = in_peace_or_not(constraints, true);
    return calm && nodes_of(*calm).size() <= nodes_of(*seats).size() ? calm : seats;
  }

 private:
  bool hurts(const Placement& seats) const {
    const auto nodes = nodes_of(seats);
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return worst_neighbour(draft_.standing(), job_, node).has_value();
    });
  }

  std::optional<Placement> in_peace_or_not(const Constraints& constraints, bool peace) const {
    const auto& models = draft_.snapshot().state.topology().models();
    std::optional<Placement> best;
    Score best_score;
    for (const std::string& model : models) {
      if (!constraints.serves(model)) continue;
      const bool only = models.size() == 1;
      const Stock stock(draft_, job_, constraints,
                        {only ? std::nullopt : std::optional(model), peace});
      const auto loads = find_nodes(stock, style_, units_);
      if (!loads) continue;
      Placement seats = seats_for(stock, *loads);
      if (only) return seats;
      const Score score = score_of(*loads, seats);
      if (best && best_score <= score) continue;
      best = std::move(seats);
      best_score = score;
    }
    if (best || models.size() <= 1 || !job_.spec->devices.empty()) return best;
    const Stock mixed(draft_, job_, constraints, {std::nullopt, peace});
    if (const auto loads = find_nodes(mixed, style_, units_)) return seats_for(mixed, *loads);
    return std::nullopt;
  }

  // Of the device models the better: fewer nodes, nearer links and less left behind (pack), fewer
  // workers on a node and emptier ones (spread); then the lower node.
  using Score = std::tuple<std::int64_t, Links, std::int64_t, NodeId>;
  Score score_of(const Loads& loads, const Placement& seats) const {
    std::int64_t most = 0, free = 0;
    for (const Load& load : loads) {
      most = std::max<std::int64_t>(most, load.units);
      free += draft_.free().free_on(load.node);
    }
    if (style_ == PlacingStyle::spread) return {most, {}, -free, loads.front().node};
    return {static_cast<std::int64_t>(loads.size()), links_of(draft_.snapshot().state, seats), free,
            loads.front().node};
  }

  const Draft& draft_;
  const Job& job_;
  PlacingStyle style_;
  std::int32_t units_;
};

// ---- another size ----

class Refitting {
 public:
  Refitting(const Draft& draft, const Job& job, const Constraints& constraints, PlacingStyle style,
            const Placement& seats)
      : stock_(draft, job, constraints, {model_of(draft.snapshot().state, seats), false}),
        mesh_(job.spec->mesh),
        style_(style),
        what_if_(draft),
        tensor_(static_cast<std::size_t>(mesh_.tensor)) {
    if (whole_groups(seats))
      kept_ = seats;
    else
      regroup(seats);
    what_if_.take(kept_);
  }

  std::optional<Placement> refit(std::int32_t workers) {
    const auto wanted = static_cast<std::size_t>(workers);
    if (kept_.size() >= wanted) return shrunk(wanted);
    complete_groups(wanted);
    stock_.keep(kept_);
    grow_on_own_nodes(wanted);
    if (kept_.size() < wanted && !grow_near(wanted)) return std::nullopt;
    return kept_;
  }

 private:
  bool whole_groups(const Placement& seats) const {
    if (seats.size() % tensor_ != 0) return false;
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
      if (seats[rank].node != seats[rank - rank % tensor_].node) return false;
    }
    return true;
  }

  // Tensor groups anew, of the workers that are left on each node; some are left over.
  void regroup(const Placement& seats) {
    for (const NodeId node : nodes_by_use(seats)) {
      Placement here;
      for (const Seat& seat : seats) {
        if (seat.node == node) here.push_back(seat);
      }
      const auto whole = here.size() - here.size() % tensor_;
      const auto middle = here.begin() + static_cast<std::ptrdiff_t>(whole);
      kept_.insert(kept_.end(), here.begin(), middle);
      if (middle != here.end()) partial_.emplace_back(middle, here.end());
    }
    std::stable_sort(partial_.begin(), partial_.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
  }

  // Whole copies of the mesh go, those on the nodes that the gang uses least.
  Placement shrunk(std::size_t workers) const {
    const auto step = std::min(static_cast<std::size_t>(mesh_.step()), workers);
    const auto use = workers_by_node(kept_);
    std::vector<std::pair<std::int64_t, std::size_t>> copies;  // minus its use, first rank
    for (std::size_t first = 0; first + step <= kept_.size(); first += step) {
      std::int64_t score = 0;
      for (std::size_t rank = first; rank < first + step; ++rank) score -= use.at(kept_[rank].node);
      copies.emplace_back(score, first);
    }
    std::stable_sort(copies.begin(), copies.end(), [&](const auto& a, const auto& b) {
      const auto key = [&](const auto& copy) {
        return std::pair{copy.first, kept_[copy.second].node};
      };
      return key(a) < key(b);
    });
    copies.resize(workers / step);
    std::sort(copies.begin(), copies.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    Placement left;
    for (const auto& [score, first] : copies) {
      const auto from = kept_.begin() + static_cast<std::ptrdiff_t>(first);
      left.insert(left.end(), from, from + static_cast<std::ptrdiff_t>(step));
    }
    return left;
  }

  // Groups that lost a worker get one again on their node, those first that lack fewest.
  void complete_groups(std::size_t wanted) {
    const auto per_worker = static_cast<std::size_t>(stock_.slots_per_worker());
    for (const Placement& group : partial_) {
      if (kept_.size() >= wanted) return;
      const NodeId node = group.front().node;
      what_if_.take(group);
      const auto slots = (tensor_ - group.size()) * per_worker;
      const auto free = stock_.slots_on(node);
      if (free.size() < slots) {
        what_if_.give(group);
        continue;
      }
      const auto& spec = stock_.state().find_node(node)->spec;
      append(kept_, group);
      add_seats(node, near_slots(spec, free, slots), per_worker);
    }
  }

  void add_seats(NodeId node, std::vector<std::uint32_t> slots, std::size_t per_worker) {
    std::sort(slots.begin(), slots.end());
    Placement seats;
    for (auto slot = slots.begin(); slot != slots.end();
         slot += static_cast<std::ptrdiff_t>(per_worker))
      seats.push_back({node, {slot, slot + static_cast<std::ptrdiff_t>(per_worker)}});
    take(seats);
  }

  void take(const Placement& seats) {
    what_if_.take(seats);
    append(kept_, seats);
  }

  [[nodiscard]] std::int32_t missing(std::size_t wanted) const {
    return static_cast<std::int32_t>((wanted - kept_.size()) / tensor_);
  }

  void grow_on_own_nodes(std::size_t wanted) {
    if (style_ == PlacingStyle::spread) return;
    for (const NodeId node : nodes_by_use(kept_)) {
      const auto here = std::min(missing(wanted), stock_.units_on(node));
      if (here <= 0) continue;
      const auto seats = seats_on_node(stock_, node, here);
      stock_.keep(seats);
      take(seats);
    }
  }

  // In the rack where it has most workers, else behind its switch, else anywhere.
  bool grow_near(std::size_t wanted) {
    for (const Area& area : near_areas()) {
      const auto loads = area.level == Area::Level::cluster && !stock_.constraints().together()
                             ? find_nodes(stock_, style_, missing(wanted))
                             : find_nodes_in(stock_, style_, area, missing(wanted));
      if (!loads || !stays_near(*loads)) continue;
      append(kept_, seats_for(stock_, *loads));
      return true;
    }
    return false;
  }

  // Of one rack not all nodes need be behind one switch.
  [[nodiscard]] bool stays_near(const Loads& loads) const {
    const auto together = stock_.constraints().together();
    if (!together || kept_.empty()) return true;
    const Topology& topology = stock_.state().topology();
    const auto at = topology.domain(kept_.front().node, *together);
    return std::ranges::all_of(
        loads, [&](const Load& load) { return topology.domain(load.node, *together) == at; });
  }

  std::vector<Area> near_areas() const {
    if (kept_.empty()) return {Area{}};
    const auto together = stock_.constraints().together();
    const NodeSite& site = stock_.state().topology().site(nodes_by_use(kept_).front());
    std::vector<Area> areas;
    if (together == Reach::node) return areas;
    if (site.rack) areas.push_back({Area::Level::rack, *site.rack});
    if (together == Reach::rack) return areas;
    if (site.network) areas.push_back({Area::Level::network, *site.network});
    if (!together) areas.push_back({});
    return areas;
  }

  Stock stock_;
  Mesh mesh_;
  PlacingStyle style_;
  SupposedSeats what_if_;
  std::size_t tensor_;
  Placement kept_;
  std::vector<Placement> partial_;
};

// Tries with every preferred term, then with fewer and fewer of those that may be given up.
template <class Try>
std::optional<Placement> with_fewer_and_fewer(const Draft& draft, const Job& job, Try attempt) {
  const Time now = draft.snapshot().now;
  const auto most = job.spec->affinity.empty() ? 0 : may_give_up(job, now);
  for (std::size_t given_up = 0; given_up <= most; ++given_up) {
    const Constraints constraints(draft.standing(), job, now, GivenUp{given_up});
    if (auto seats = attempt(constraints)) return seats;
  }
  return std::nullopt;
}

// Seats that a growing gang may keep. Where racks or switches were named anew since it came, its workers may be
// apart, or together, against its owner's word: those in the place with most of them stay, or one tensor group
// in each place.
Placement may_stay(const Draft& draft, const Job& job, Placement seats) {
  if (job.spec->affinity.empty()) return seats;
  const Constraints required(draft.standing(), job, draft.snapshot().now, kAllPreferred);
  const Topology& topology = draft.snapshot().state.topology();
  if (const auto reach = required.together()) {
    std::map<std::uint32_t, std::int32_t> workers;
    for (const Seat& seat : seats) ++workers[topology.domain(seat.node, *reach)];
    const auto most =
        std::ranges::max_element(workers, {}, [](const auto& each) { return each.second; });
    std::erase_if(
        seats, [&](const Seat& seat) { return topology.domain(seat.node, *reach) != most->first; });
  }
  if (const auto reach = required.apart()) {
    std::map<std::uint32_t, std::pair<NodeId, std::int32_t>> groups;
    std::erase_if(seats, [&](const Seat& seat) {
      const auto domain = topology.domain(seat.node, *reach);
      auto& [node, workers] = groups.try_emplace(domain, seat.node, 0).first->second;
      return seat.node != node || ++workers > job.spec->mesh.tensor;
    });
  }
  return seats;
}

}  // namespace

std::optional<Placement> GangPlacer::fit(const Draft& draft, const Job& job,
                                         std::int32_t workers) const {
  if (workers % job.spec->mesh.step() != 0) return std::nullopt;
  const Fitting fitting(draft, job, style_, workers);
  return with_fewer_and_fewer(draft, job, [&](const Constraints& c) { return fitting.fit(c); });
}

std::optional<Placement> GangPlacer::refit(const Draft& draft, const Job& job,
                                           const Placement& seats, std::int32_t workers) const {
  if (seats.empty()) return fit(draft, job, workers);
  if (workers % job.spec->mesh.step() != 0) return std::nullopt;
  const bool grows = std::cmp_greater(workers, seats.size());
  const Placement kept = grows ? may_stay(draft, job, seats) : seats;
  return with_fewer_and_fewer(draft, job, [&](const Constraints& constraints) {
    return Refitting(draft, job, constraints, style_, kept).refit(workers);
  });
}

std::optional<Placement> fit_on(const Draft& draft, const Job& job, std::int32_t workers,
                                NodeId node) {
  const std::int32_t units = workers / job.spec->mesh.tensor;
  return with_fewer_and_fewer(draft, job, [&](const Constraints& c) -> std::optional<Placement> {
    const Topology& topology = draft.snapshot().state.topology();
    for (const auto& model : topology.models_of(topology.site(node).kind)) {
      if (!c.serves(model)) continue;
      const Stock stock(draft, job, c, {model, false});
      if (stock.units_on(node) >= units) return seats_on_node(stock, node, units);
    }
    return std::nullopt;
  });
}

}  // namespace paceline
