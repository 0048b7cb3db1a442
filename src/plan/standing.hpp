// Which jobs stand on which node once the changes of a plan are done. A job on its way out (its
// lease ends) counts no more; a job that a slot is promised to counts already. Constraints between
// jobs are judged by this, in a draft and in the check of its plan.
//
//   Standing standing(state);
//   for (const Change& change : plan.changes) standing.add(change);
//   standing.each_on(node, [&](const Job& job, std::int32_t slots) { … });
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/state.hpp"
#include "plan/plan.hpp"

namespace paceline {

class Standing {
 public:
  explicit Standing(const State& state) : state_(state) {}

  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] std::size_t changes() const { return changed_in_order_.size(); }
  void add(const Change& change);
  // Takes back the change that was added last.
  void pop(const Change& change);

  // visit(job, slots): a job may be named several times; its slots add up.
  template <class Visit>
  void each_on(NodeId node, Visit visit) const {
    for (const Slot& slot : state_.find_node(node)->slots) {
      const JobId* holder = holder_of(slot);
      if (holder && !changed_.contains(*holder)) visit(state_.job(*holder), 1);
    }
    const auto newcomers = newcomers_.find(node);
    if (newcomers == newcomers_.end()) return;
    for (const auto& [job, slots] : newcomers->second) visit(state_.job(job), slots);
  }

  // visit(job, slots): jobs that are frozen there in slots that others may have; several times as
  // well.
  template <class Visit>
  void each_frozen_on(NodeId node, Visit visit) const {
    for (const Slot& slot : state_.find_node(node)->slots) {
      if (!slot.lent || changed_.contains(slot.lent->job)) continue;
      const Job& job = state_.job(slot.lent->job);
      if (!job.seated()) visit(job, 1);
    }
    const auto frozen = frozen_.find(node);
    if (frozen == frozen_.end()) return;
    for (const auto& [job, slots] : frozen->second) visit(state_.job(job), slots);
  }

  // The nodes where the job will stand; several times the same one perhaps.
  [[nodiscard]] std::vector<NodeId> nodes_of(JobId job) const;
  // The jobs of that name that will stand somewhere: those that do already (State::active_named), then those of
  // the changes, in their order. One that does and is changed is named twice.
  [[nodiscard]] std::vector<JobId> named(std::string_view pattern) const;
  // visit(job): the jobs that keep others off their nodes (State::aloof), in no order.
  template <class Visit>
  void each_aloof(Visit visit) const {
    for (const JobId id : state_.aloof()) visit(state_.job(id));
    for (const JobId id : aloof_) visit(state_.job(id));
  }

 private:
  struct Newcomer {
    JobId job;
    std::int32_t slots = 0;
  };

  static const JobId* holder_of(const Slot& slot);
  // visit(node, slots) for each seat that a pause freezes.
  template <class Visit>
  void each_seat_frozen_by(const Change& change, Visit visit) const;

  const State& state_;
  std::vector<JobId> changed_in_order_;
  std::vector<JobId> aloof_;  // those of them that keep others off their nodes
  std::unordered_map<JobId, std::vector<NodeId>> changed_;  // to the nodes of their new seats
  std::unordered_map<NodeId, std::vector<Newcomer>> newcomers_;
  std::unordered_map<NodeId, std::vector<Newcomer>> frozen_;  // by changes
};

// The neighbour on a node that would slow the job down most, or be slowed down by it, by more than
// kSlowDownMax. Nothing: nobody there does, as far as is known.
struct Neighbour {
  std::string name;
  double slow_down = 0;
};
std::optional<Neighbour> worst_neighbour(const Standing& standing, const Job& job, NodeId node);

}  // namespace paceline
