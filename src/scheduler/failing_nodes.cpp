#include "scheduler/failing_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/draining.hpp"

namespace paceline {
namespace {

// Of the job's own doing, or of what it found there; not of a machine that is lost or in want.
bool fails(const Ending& ending) {
  switch (ending.cause) {
    case Cause::exited:
      return !ending.clean() && !ending.asks_requeue();
    case Cause::signalled:
    case Cause::launch_failed:
    case Cause::setup_failed:
      return true;
    default:
      return false;
  }
}

bool others_start_jobs(const State& state, NodeId but) {
  return std::ranges::any_of(state.nodes(),
                             [&](const Node& node) { return node.id != but && starts_jobs(node); });
}

}  // namespace

// Of a gang the first end counts: the others are ended for it.
void FailingNodes::follow(const State& state, const Event& event, Time at) {
  const auto* ended = std::get_if<WorkerEnded>(&event);
  const Job* job = ended != nullptr ? state.find_job(ended->worker.job) : nullptr;
  if (job == nullptr || !job->current || job->current->stop) return;
  const auto rank = job->current->rank_of(ended->worker);
  if (!rank) return;
  const NodeId node = job->current->workers[static_cast<std::size_t>(*rank)].seat.node;
  const Time began = job->current->started_at.value_or(job->current->formed_at);
  if (ended->ending.clean() || at - began >= kFailsWithin)
    failed_.erase(node);
  else if (fails(ended->ending))
    failed_[node].insert(job->spec->user);
}

bool FailingNodes::is_due(const State& state, NodeId id,
                          const std::set<std::string>& owners) const {
  return owners.size() >= owners_ && !state.find_node(id)->drain && others_start_jobs(state, id);
}

bool FailingNodes::any_due(const State& state) const {
  return std::ranges::any_of(
      failed_, [&](const auto& each) { return is_due(state, each.first, each.second); });
}

std::vector<NodeDrained> FailingNodes::due(const State& state) {
  std::vector<NodeDrained> due;
  for (auto& [id, owners] : failed_) {
    if (!is_due(state, id, owners)) continue;
    DrainOrder order;
    order.reason = fmt::format(
        "jobs of {} users failed here one after the other, each within a minute", owners.size());
    order.keeps = true;
    due.push_back({id, std::move(order), {}});
  }
  for (const NodeDrained& one : due) failed_.erase(one.node);
  return due;
}

}  // namespace paceline
