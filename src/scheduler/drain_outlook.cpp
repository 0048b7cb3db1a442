#include "scheduler/drain_outlook.hpp"

#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "estimate/resize_cost.hpp"
#include "plan/apply.hpp"
#include "plan/draining.hpp"
#include "plan/protection.hpp"

namespace paceline {
namespace {

// The present with the order in it, begun, and the round that would come next.
class Rehearsal {
 public:
  Rehearsal(const Snapshot& snapshot, std::span<const NodeId> nodes, const DrainOrder& order,
            const Departures& departures)
      : now_(snapshot.now),
        nodes_(nodes),
        departures_(departures),
        state_(StateParts(snapshot.state.parts())) {
    for (const NodeId node : nodes) {
      tell(NodeDrained{node, order, {}});
      tell(DrainBegan{node});
    }
  }

  [[nodiscard]] const State& state() const { return state_; }

  // The jobs there, in the order of the queue, and of each the node that has drained longest: from that it may
  // leave first.
  [[nodiscard]] std::map<QueueKey, const Node*> leaving() const {
    std::map<QueueKey, const Node*> leaving;
    for (const NodeId id : nodes_) {
      const Node& node = *state_.find_node(id);
      for (const JobId job : jobs_on(state_, node)) {
        const Node*& first = leaving.try_emplace(queue_key(state_.job(job)), &node).first->second;
        if (*node.drain->begun_at < *first->drain->begun_at) first = &node;
      }
    }
    return leaving;
  }

  std::map<JobId, Change> changes(const RoundBy& round) const {
    Draft draft({state_, now_}, round.placer, round.protects);
    const auto plan = decide(draft, round.decider);
    std::map<JobId, Change> changes;
    if (plan)
      for (const Change& change : plan->changes) changes.emplace(change.job, change);
    return changes;
  }

  Leaver leaver(const Job& job, const Node& node, const std::map<JobId, Change>& changes,
                const DrainOutlook& outlook) const {
    Leaver leaver{job.id, Leaving::by_itself, job.planned_workers(), job.planned_workers()};
    leaver.anew = job.begins_anew();
    if (node.drain->order.keeps) {
      leaver.how = Leaving::kept;
      return leaver;
    }
    const auto change = changes.find(job.id);
    if (change != changes.end() && !begins(change->second.kind))
      return changed(job, leaver, change->second, outlook.begins);
    const auto ends = outlook.ends;
    const bool waits = job.state == JobState::running && job.resizable() &&
                       node_not_heard(state_, job) == nullptr &&
                       may_leave_from({state_, now_}, job, node) > now_;
    if (waits) {
      leaver.how = Leaving::saving;
      leaver.at = may_leave_from({state_, now_}, job, node) + (outlook.begins - now_);
      if (ends) leaver.at = std::min(*leaver.at, *ends);
      leaver.lost_slot_seconds = pause_of(job);
    } else if (ends) {
      leaver.how = Leaving::stopped;
      leaver.at = ends;
      leaver.to = 0;
      leaver.lost_slot_seconds = lost_when_stopped(job, *ends);
    }
    return leaver;
  }

 private:
  void tell(Event event) { apply(state_, Entry{state_.seq() + 1, now_, std::move(event)}); }

  Leaver changed(const Job& job, Leaver leaver, const Change& change, Time begins) const {
    leaver.to = static_cast<std::int32_t>(change.placement.size());
    leaver.how = leaver.to > 0 ? Leaving::at_once : Leaving::stopped;
    leaver.at = begins;
    leaver.lost_slot_seconds =
        leaver.to > 0 ? work_lost_by_resizing(job, now_) + pause_of(job) +
                            resize_pause(job) * job.slots(new_seats(job, change.placement))
                      : lost_when_stopped(job, now_);
    return leaver;
  }

  // Beside those that it has still until it has left them.
  static std::int32_t new_seats(const Job& job, const Placement& placement) {
    return static_cast<std::int32_t>(std::ranges::count_if(placement, [&](const Seat& seat) {
      return std::ranges::find(job.current->workers, seat, &Worker::seat) ==
             job.current->workers.end();
    }));
  }

  [[nodiscard]] double pause_of(const Job& job) const {
    return resize_pause(job) * job.slots(job.current->size());
  }

  // A job that saves is taken to have as much unsaved then as now, unless it saves at the notice; one that never
  // did loses it all. Until it has left, its slots are its own; while it waits they are others'.
  [[nodiscard]] double lost_when_stopped(const Job& job, Time at) const {
    if (!job.current || job.lends()) return 0;
    const double slots = job.slots(job.current->size());
    const auto known = departures_.of(job.id);
    const double leaving = known ? to_seconds(known->takes) * slots : 0;
    if (known && known->saves) return leaving;
    const double more = job.checkpoint ? 0 : to_seconds(at - now_) * slots;
    return work_at_risk(job, now_) + more + leaving;
  }

  Time now_;
  std::span<const NodeId> nodes_;
  const Departures& departures_;
  State state_;
};

}  // namespace

double DrainOutlook::lost_slot_seconds() const {
  double sum = 0;
  for (const Leaver& leaver : jobs) sum += leaver.lost_slot_seconds;
  return sum;
}

DrainOutlook outlook_of_drain(const Snapshot& snapshot, std::span<const NodeId> nodes,
                              const DrainOrder& order, const RoundBy& round,
                              const Departures& departures) {
  DrainOutlook outlook;
  for (const NodeId id : nodes) {
    const Node* node = snapshot.state.find_node(id);
    check(node != nullptr, "the nodes exist");
    outlook.slots += std::ranges::count_if(node->spec.slots, &SlotSpec::usable);
  }
  const Rehearsal rehearsal(snapshot, nodes, order, departures);
  outlook.is_last = std::ranges::none_of(rehearsal.state().nodes(), starts_jobs);
  outlook.begins = order.from ? snapshot.state.on_time_line(*order.from) : snapshot.now;
  if (order.until) outlook.ends = snapshot.state.on_time_line(*order.until);
  if (order.within) outlook.ends = outlook.begins + *order.within;
  const auto changes = rehearsal.changes(round);
  for (const auto& [key, node] : rehearsal.leaving())
    outlook.jobs.push_back(
        rehearsal.leaver(rehearsal.state().job(key.job), *node, changes, outlook));
  return outlook;
}

}  // namespace paceline
