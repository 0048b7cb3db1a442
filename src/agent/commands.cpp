// What a server asks of one worker, and the timers that carry it out.
#include "agent/agent.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline::agent {

Agent::Worker* Agent::find_alive(const ProcessKey& key) {
  const auto found = workers_.find(key);
  return found == workers_.end() || found->second.end ? nullptr : &found->second;
}

bool Agent::fenced(const ProcessKey& key) const {
  const auto fence = fences_.find(key.job);
  return fence != fences_.end() && key.born <= fence->second;
}

void Agent::on(const StartWorker& start) {
  const ProcessKey& key = start.worker.key;
  if (workers_.contains(key)) return;
  if (fenced(key)) {
    outbox_.push(
        WorkerGone{key,
                   Cause::node_lost,  // by a server that forgot: its next generation may start
                   {},
                   0,
                   fmt::format("generation {} of job {} is over", key.born.value, key.job.value),
                   now_});
    return;
  }
  Worker& worker = workers_[key];
  worker.slots = start.worker.slots;
  worker.refusals = refusals_;
  if (const auto& refusal = node_.refusal)
    return on(WorkerGone{key, Cause::refused, {}, 0, refusal->why, now_});
  host_.perform(Start{start.worker});
}

void Agent::on(const StopWorker& stop) {
  Worker* worker = find_alive(stop.key);
  if (!worker || worker->kill_wait > Duration::zero()) return;
  const bool can_hear = worker->pid != 0 && stop.grace > Duration::zero();
  if (!can_hear) return kill(stop.key, *worker);
  give_notice(stop.key, *worker, stop.signal);
  const Time at = now_ + stop.grace;
  set_timer(stop.key, *worker, std::min(worker->kill_at.value_or(at), at));
}

void Agent::give_notice(const ProcessKey& key, Worker& worker, std::int32_t signal) {
  if (worker.noticed) return;
  worker.noticed = true;
  host_.perform(SetShouldStop{key, "notice"});
  host_.perform(GiveNotice{key, signal});
}

void Agent::on(const FreezeWorker& freeze) {
  if (find_alive(freeze.key)) host_.perform(Freeze{freeze.key});
}

void Agent::on(const ThawWorker& thaw) {
  if (find_alive(thaw.key)) host_.perform(Thaw{thaw.key});
}

void Agent::on(const ShouldStop& should_stop) {
  if (find_alive(should_stop.key))
    host_.perform(SetShouldStop{should_stop.key, should_stop.reason});
}

void Agent::on(const LimitWorker& limited) {
  if (find_alive(limited.key)) host_.perform(SetLimit{limited.key, limited.limit});
}

void Agent::on(const EnrolWorker& enrolled) {
  if (find_alive(enrolled.key))
    host_.perform(SetMembership{enrolled.key, enrolled.membership, enrolled.place});
}

// Without a notice: that would be for its whole gang.
void Agent::on(const LeaveGang& leave) {
  Worker* worker = find_alive(leave.key);
  if (!worker || worker->kill_wait > Duration::zero()) return;
  host_.perform(Dismiss{leave.key, leave.generation});
  const Time at = now_ + leave.grace;
  set_timer(leave.key, *worker, std::min(worker->kill_at.value_or(at), at));
}

void Agent::on(const KeepCheckpoint& keep) { host_.perform(Keep{keep.checkpoint}); }

void Agent::on(const DiscardWorker& discard) {
  const auto found = workers_.find(discard.key);
  if (found == workers_.end() || !found->second.end) return;
  workers_.erase(found);
  host_.perform(Discard{discard.key});
}

void Agent::on(const FenceJob& fence) {
  auto& generation = fences_[fence.job];
  generation = std::max(generation, fence.generation);
  if (fences_.size() > kFencesMax) fences_.erase(fences_.begin());
  const ProcessKey first{fence.job, {}, 0};
  for (auto it = workers_.lower_bound(first); it != workers_.end() && it->first.job == fence.job;
       ++it) {
    auto& [key, worker] = *it;
    const bool untouched = !worker.end && worker.kill_wait == Duration::zero();
    if (key.born <= fence.generation && untouched) kill(key, worker);
  }
}

// A kill that left something alive, or that the host could not do, is tried again.
void Agent::kill(const ProcessKey& key, Worker& worker) {
  const bool first = worker.kill_wait == Duration::zero();
  worker.kill_wait = first ? kKillAgainFirst : std::min(2 * worker.kill_wait, kKillAgainMax);
  set_timer(key, worker, now_ + worker.kill_wait);
  host_.perform(Kill{key});
}

void Agent::set_timer(const ProcessKey& key, Worker& worker, std::optional<Time> at) {
  if (worker.kill_at) timers_.erase({*worker.kill_at, key});
  worker.kill_at = at;
  if (at) timers_.insert({*at, key});
}

void Agent::fire_timers() {
  while (!timers_.empty() && timers_.begin()->first <= now_) {
    const ProcessKey key = timers_.begin()->second;
    kill(key, workers_.at(key));
  }
}

}  // namespace paceline::agent
