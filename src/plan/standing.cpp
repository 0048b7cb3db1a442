#include "plan/standing.hpp"

#include "estimate/interference.hpp"
#include "model/kind.hpp"

namespace paceline {

const JobId* Standing::holder_of(const Slot& slot) {
  if (slot.promise) return &slot.promise->job;
  return slot.lease && !slot.lease->ending ? &slot.lease->worker.job : nullptr;
}

template <class Visit>
void Standing::each_seat_frozen_by(const Change& change, Visit visit) const {
  if (change.kind != ChangeKind::pause) return;
  for (const Worker& worker : state_.job(change.job).current->workers)
    visit(worker.seat.node, static_cast<std::int32_t>(worker.seat.slots.size()));
}

void Standing::add(const Change& change) {
  changed_in_order_.push_back(change.job);
  if (keeps_others_off(*state_.job(change.job).spec)) aloof_.push_back(change.job);
  auto& nodes = changed_[change.job];
  for (const Seat& seat : change.placement) {
    if (nodes.empty() || nodes.back() != seat.node) nodes.push_back(seat.node);
    newcomers_[seat.node].push_back({change.job, static_cast<std::int32_t>(seat.slots.size())});
  }
  each_seat_frozen_by(change, [&](NodeId node, std::int32_t slots) {
    frozen_[node].push_back({change.job, slots});
  });
}

void Standing::pop(const Change& change) {
  for (const Seat& seat : change.placement) newcomers_[seat.node].pop_back();
  each_seat_frozen_by(change, [&](NodeId node, std::int32_t) { frozen_[node].pop_back(); });
  changed_.erase(change.job);
  changed_in_order_.pop_back();
  if (!aloof_.empty() && aloof_.back() == change.job) aloof_.pop_back();
}

std::vector<NodeId> Standing::nodes_of(JobId id) const {
  if (const auto changed = changed_.find(id); changed != changed_.end()) return changed->second;
  std::vector<NodeId> nodes;
  const Job& job = state_.job(id);
  const auto add_seats = [&](const Gang& gang) {
    for (const Worker& worker : gang.workers) {
      if (worker.state != WorkerState::ended) nodes.push_back(worker.seat.node);
    }
  };
  if (job.current && !job.current->stop && !job.lends()) add_seats(*job.current);
  if (job.forming) add_seats(*job.forming);
  return nodes;
}

std::vector<JobId> Standing::named(std::string_view pattern) const {
  std::vector<JobId> jobs = state_.active_named(pattern);
  for (const JobId id : changed_in_order_) {
    if (name_matches(pattern, state_.job(id).spec->name)) jobs.push_back(id);
  }
  return jobs;
}

std::optional<Neighbour> worst_neighbour(const Standing& standing, const Job& job, NodeId node) {
  const Interference& interference = standing.state().interference();
  std::optional<Neighbour> worst;
  if (interference.pairs.empty()) return worst;
  const auto kind = kind_of(*job.spec);
  standing.each_on(node, [&](const Job& other, std::int32_t) {
    if (other.id == job.id) return;
    const double slow_down = paceline::slow_down(interference, kind, kind_of(*other.spec));
    if (slow_down > (worst ? worst->slow_down : kSlowDownMax))
      worst = Neighbour{other.spec->name, slow_down};
  });
  return worst;
}

}  // namespace paceline
