#include "placement/repack.hpp"

#include <algorithm>
#include <map>

#include "placement/node_slots.hpp"
#include "placement/what_if.hpp"

namespace paceline {
namespace {

// One tensor group of a job: seats of consecutive ranks.
Placement group_of(const Placement& seats, std::size_t group, std::size_t tensor) {
  const auto first = seats.begin() + static_cast<std::ptrdiff_t>(group * tensor);
  return {first, first + static_cast<std::ptrdiff_t>(tensor)};
}

// A job as the search sees it: groups on nodes.
struct Mover {
  struct Place {
    NodeId node;
    std::int32_t before = 0;  // groups whose seats are free for it still
    std::int32_t now = 0;
  };

  const Given* given = nullptr;
  std::size_t tensor = 1;
  std::uint32_t group_slots = 0;
  std::int32_t groups = 0;    // to have
  std::vector<Place> places;  // where it may stand: where it did first, then the emptiest

  [[nodiscard]] std::int32_t may_keep() const {
    std::int32_t before = 0;
    for (const Place& place : places) before += place.before;
    return std::min(before, groups);
  }
};

bool all_free(const FreeSlots& free, const Placement& seats) {
  return std::all_of(seats.begin(), seats.end(), [&](const Seat& seat) {
    return std::all_of(seat.slots.begin(), seat.slots.end(), [&](std::uint32_t i) {
      return free.is_free({seat.node, i});
    });
  });
}

const std::string& seats_model(const State& state, const Placement& seats) {
  const Seat& first = seats.front();
  return state.find_node(first.node)->slot_spec(first.slots.front()).model;
}

// Constraints refer to their standing and job only: all of them outlive the search.
class Repacking {
 public:
  Repacking(const Draft& draft, std::span<const Given> jobs) : draft_(draft) {
    for (const Node& node : state().nodes()) left_[node.id] = draft.free().free_on(node.id);
    for (const Given& given : jobs) movers_.push_back(mover_of(given));
    bound_.resize(movers_.size() + 1, 0);
    for (std::size_t i = movers_.size(); i-- > 0;) {
      const Mover& mover = movers_[i];
      bound_[i] = bound_[i + 1] + mover.may_keep() * static_cast<std::int32_t>(mover.tensor);
    }
  }

  std::optional<Repacked> run() {
    place(0, 0, movers_.empty() ? 0 : movers_[0].groups, 0);
    if (!found_) return std::nullopt;
    Repacked repacked = seats();
    repacked.exact = steps_ < kRepackSteps;
    return repacked;
  }

 private:
  [[nodiscard]] const State& state() const { return draft_.snapshot().state; }

  [[nodiscard]] Constraints constraints_of(const Job& job) const {
    const Time now = draft_.snapshot().now;
    return {draft_.standing(), job, now, GivenUp{may_give_up(job, now)}};
  }

  Mover mover_of(const Given& given) const {
    const Job& job = state().job(given.job);
    Mover mover;
    mover.given = &given;
    mover.tensor = static_cast<std::size_t>(job.spec->mesh.tensor);
    mover.group_slots = static_cast<std::uint32_t>(job.slots(job.spec->mesh.tensor));
    mover.groups = given.workers / job.spec->mesh.tensor;
    std::map<NodeId, std::int32_t> before;
    for (std::size_t group = 0; group * mover.tensor < given.seats.size(); ++group) {
      const auto seats = group_of(given.seats, group, mover.tensor);
      if (all_free(draft_.free(), seats)) ++before[seats.front().node];
    }
    const Constraints constraints = constraints_of(job);
    const auto& topology = state().topology();
    for (const auto& [node, free] : left_) {
      const auto& models = topology.models_of(topology.site(node).kind);
      if (free < mover.group_slots || models.size() != 1 || !constraints.allows(node)) continue;
      if (models[0] == seats_model(state(), given.seats))
        mover.places.push_back({node, before[node], 0});
    }
    std::stable_sort(mover.places.begin(), mover.places.end(), [&](const auto& a, const auto& b) {
      return std::pair{a.before, left_.at(a.node)} > std::pair{b.before, left_.at(b.node)};
    });
    return mover;
  }

  // Every way to place what is left of job `i` from its place `p` on, then the jobs after it, the
  // most promising first.
  void place(std::size_t i, std::size_t p, std::int32_t groups, std::int32_t kept) {
    if (++steps_ >= kRepackSteps) return;
    if (i == movers_.size()) {
      if (!found_ || kept > best_) remember(kept);
      return;
    }
    Mover& mover = movers_[i];
    if (groups == 0) {
      const bool last = i + 1 == movers_.size();
      return place(i + 1, 0, last ? 0 : movers_[i + 1].groups, kept);
    }
    if (p == mover.places.size() || hopeless(i, p, groups, kept)) return;
    Mover::Place& here = mover.places[p];
    std::uint32_t& left = left_[here.node];
    const auto room = std::min(groups, static_cast<std::int32_t>(left / mover.group_slots));
    for (here.now = room; here.now >= 0 && steps_ < kRepackSteps; --here.now) {
      const auto slots = static_cast<std::uint32_t>(here.now) * mover.group_slots;
      left -= slots;
      const auto stay = std::min(here.now, here.before) * static_cast<std::int32_t>(mover.tensor);
      place(i, p + 1, groups - here.now, kept + stay);
      left += slots;
    }
    here.now = 0;
  }

  // Nothing from here on could be better than what is found.
  bool hopeless(std::size_t i, std::size_t p, std::int32_t groups, std::int32_t kept) const {
    if (!found_) return false;
    const Mover& mover = movers_[i];
    std::int32_t before = 0;
    for (std::size_t q = p; q < mover.places.size() && mover.places[q].before > 0; ++q)
      before += mover.places[q].before;
    const auto most = std::min(before, groups) * static_cast<std::int32_t>(mover.tensor);
    return kept + most + bound_[i + 1] <= best_;
  }

  void remember(std::int32_t kept) {
    found_.emplace();
    best_ = kept;
    for (const Mover& mover : movers_) found_->push_back(mover.places);
  }

  // ---- from groups to seats ----
  Repacked seats() {
    Repacked repacked;
    SupposedSeats what_if(draft_);
    std::vector<std::vector<Placement>> kept;
    for (std::size_t i = 0; i < movers_.size(); ++i) {
      movers_[i].places = (*found_)[i];
      kept.push_back(kept_groups(movers_[i]));
      for (const Placement& group : kept.back()) what_if.take(group);
    }
    for (std::size_t i = 0; i < movers_.size(); ++i) {
      const Mover& mover = movers_[i];
      auto seats = filled_up(mover, kept[i], what_if);
      const auto stay = std::min(mover.given->seats.size(), seats.size());
      std::size_t same = 0;
      for (const Placement& group : kept[i]) same += group.size();
      repacked.moved += static_cast<std::int32_t>(stay - same);
      repacked.jobs.push_back({mover.given->job, std::move(seats)});
    }
    return repacked;
  }

  // In rank order; empty where a group goes.
  std::vector<Placement> kept_groups(const Mover& mover) const {
    std::map<NodeId, std::int32_t> stay;
    for (const auto& place : mover.places) stay[place.node] = std::min(place.now, place.before);
    std::vector<Placement> groups;
    for (std::size_t g = 0; g * mover.tensor < mover.given->seats.size(); ++g) {
      auto seats = group_of(mover.given->seats, g, mover.tensor);
      const bool stays = all_free(draft_.free(), seats) && stay[seats.front().node]-- > 0;
      groups.push_back(stays ? std::move(seats) : Placement{});
    }
    return groups;
  }

  // The groups that moved take the ranks that are open, then further ones.
  Placement filled_up(const Mover& mover, const std::vector<Placement>& kept,
                      SupposedSeats& what_if) {
    std::vector<Placement> moved = moved_groups(mover, what_if);
    Placement seats;
    auto next = moved.begin();
    for (const Placement& group : kept) {
      const bool open = group.empty();
      if (open && next == moved.end()) continue;
      const Placement& here = open ? *next++ : group;
      seats.insert(seats.end(), here.begin(), here.end());
    }
    for (; next != moved.end(); ++next) seats.insert(seats.end(), next->begin(), next->end());
    return seats;
  }

  std::vector<Placement> moved_groups(const Mover& mover, SupposedSeats& what_if) {
    const Job& job = state().job(mover.given->job);
    const Constraints constraints = constraints_of(job);
    const Stock stock(draft_, job, constraints, {seats_model(state(), mover.given->seats), false});
    std::vector<Placement> groups;
    for (const auto& place : mover.places) {
      const auto more = place.now - std::min(place.now, place.before);
      if (more == 0) continue;
      const auto seats = seats_on_node(stock, place.node, more);
      what_if.take(seats);
      for (std::size_t g = 0; g * mover.tensor < seats.size(); ++g)
        groups.push_back(group_of(seats, g, mover.tensor));
    }
    return groups;
  }

  const Draft& draft_;
  std::map<NodeId, std::uint32_t> left_;  // free slots of the nodes
  std::vector<Mover> movers_;
  std::vector<std::int32_t> bound_;  // workers that movers from here on could keep at most
  std::optional<std::vector<std::vector<Mover::Place>>> found_;
  std::int32_t best_ = 0;
  int steps_ = 0;
};

}  // namespace

bool repackable(const Draft& draft, const Job& job) {
  const JobSpec& spec = *job.spec;
  const bool plain = !spec.exclusive && spec.cpus <= 0 && spec.memory_bytes == 0 &&
                     std::all_of(spec.affinity.begin(), spec.affinity.end(),
                                 [](const Affinity& a) { return a.to == AffinityTo::label; });
  if (!plain || job.state != JobState::running || !job.resizable() || draft.changed(job.id) ||
      !job.range.contains(job.current->size()))
    return false;
  const Placement seats = draft.seats(job.id);
  const Topology& topology = draft.snapshot().state.topology();
  const auto one_model = [&](const Seat& seat) {
    return topology.models_of(topology.site(seat.node).kind).size() == 1;
  };
  return static_cast<std::int32_t>(seats.size()) == job.current->size() &&
         std::all_of(seats.begin(), seats.end(), one_model);
}

std::optional<Repacked> repack_given(const Draft& draft, std::span<const Given> jobs) {
  return Repacking(draft, jobs).run();
}

std::optional<Repacked> repack(const Draft& draft, std::span<const NewSize> sizes) {
  SupposedSeats what_if(draft);
  std::vector<Given> jobs;
  for (const auto& [job, workers] : sizes) {
    jobs.push_back({job, draft.seats(job), workers});
    what_if.give(jobs.back().seats);
  }
  return repack_given(draft, jobs);
}

}  // namespace paceline
