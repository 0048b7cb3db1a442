#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.hpp"
#include "estimate/interference.hpp"
#include "model/kind.hpp"
#include "model/unmet.hpp"
#include "plan/apply.hpp"
#include "plan/fold.hpp"
#include "plan/retirement.hpp"

namespace paceline {
namespace {

// Nothing of what lay on the one is on the other.
bool is_another_machine(const NodeSpec& before, const NodeSpec& now) {
  return !before.machine.empty() && !now.machine.empty() && before.machine != now.machine;
}

}  // namespace

void Fold::on(const NodeUp& e) {
  check(e.node.value <= parts_.nodes.size(), "nodes are numbered in the order they join");
  if (e.node.value == parts_.nodes.size()) parts_.nodes.push_back(Node{e.node, {}, false, {}});
  const bool is_another = is_another_machine(parts_.nodes[e.node.value].spec, e.spec);
  const auto losing = is_another && !by_rules_before(6)
                          ? lose_checkpoints_on(parts_.nodes[e.node.value].spec.name)
                          : std::vector<JobId>{};
  Node& node = parts_.nodes[e.node.value];
  count_node(node, -1);
  node.spec = e.spec;
  node.up = true;
  node.retired = false;
  node.absent_since.reset();
  node.off_by.clear();
  node.slots.resize(std::max(node.slots.size(), e.spec.slots.size()));
  count_node(node, +1);
  index_slots(node);
  for (const JobId id : losing) try_switch(touch(id));
}

Node& Fold::known_node(NodeId id) {
  check(id.value < parts_.nodes.size(), "the node exists");
  return parts_.nodes[id.value];
}

void Fold::on(const NodeDown& e) {
  Node& node = known_node(e.node);
  count_node(node, -1);
  if (node.up) node.absent_since = at_;
  node.up = false;
  count_node(node, +1);
  update_free(node);
  if (!by_rules_before(6)) give_back_what_waits_for(node);
}

// The seats of a generation that would wait for the machine: to leave it, to start there, or for a copy of
// what lies there alone. Nobody knows how long.
void Fold::give_back_what_waits_for(const Node& node) {
  const auto stands_there = [&](const Worker& worker) {
    return worker.state != WorkerState::ended && worker.seat.node == node.id;
  };
  const auto waits = [&](const Job& job) {
    if (!job.forming || (job.lends() && job.forms_in_place())) return false;
    const bool leaves = job.current && std::ranges::any_of(job.current->workers, stands_there);
    return leaves || std::ranges::any_of(job.forming->workers, stands_there);
  };
  const auto waits_for_copy = [&](const Job& job) {
    return job.forming && !job.current && lacks_checkpoint(job, *job.forming) &&
           job.checkpoint->place->node == node.spec.name;
  };
  std::vector<JobId> waiting;
  for (const auto& key : state_.active()) {
    const Job& job = state_.job(key.job);
    if (waits(job) || waits_for_copy(job)) waiting.push_back(job.id);
  }
  for (const JobId id : waiting) give_back(touch(id));
}

// A start that was only promised takes nothing from the time that the job has waited.
void Fold::give_back(Job& job) {
  if (job.forms_in_place()) {
    drop_forming(job);
    return wait_while_too_few(job);
  }
  if (job.current) {
    drop_forming(job);
    return enter(job, JobState::stopping);
  }
  const bool starts = job.state == JobState::starting;
  const Time waiting_since = job.waiting_since, eligible_at = job.eligible_at;
  requeue(job, Duration::zero());
  if (!starts) return;
  job.waiting_since = waiting_since;
  job.eligible_at = eligible_at;
}

void Fold::on(const NodeDrained& e) {
  Node& node = known_node(e.node);
  const auto begun = node.drain ? node.drain->begun_at : std::nullopt;
  node.drain = Drain{e.order, e.by, begun};
  if (!begun && !e.order.from) node.drain->begun_at = at_;
  index_drain(node);
}

void Fold::on(const DrainBegan& e) {
  Node& node = known_node(e.node);
  if (!node.drain || node.drain->begun_at) return;
  node.drain->begun_at = at_;
  index_drain(node);
}

void Fold::on(const NodeUndrained& e) {
  Node& node = known_node(e.node);
  node.drain.reset();
  index_drain(node);
}

void Fold::on(const NodeOff& e) { known_node(e.node).off_by = e.by; }

// The racks, switches and models that only they had are gone with them: all is numbered anew.
void Fold::on(const NodesRetired& e) {
  const auto leaving = may_retire(state_, e.nodes);
  std::vector<JobId> losing;
  for (const NodeId id : leaving) {
    Node& node = parts_.nodes[id.value];
    const auto jobs = lose_checkpoints_on(node.spec.name);
    losing.insert(losing.end(), jobs.begin(), jobs.end());
    count_node(node, -1);
    Node left;
    left.id = id;
    left.retired = true;
    left.spec.name = std::move(node.spec.name);
    left.drain = std::move(node.drain);
    left.off_by = std::move(node.off_by);
    node = std::move(left);
  }
  if (leaving.empty()) return;
  state_.topology_ = {};
  state_.free_ = {};
  for (const Node& node : parts_.nodes) index_slots(node);
  if (by_rules_before(3)) return;
  for (const JobId id : losing) try_switch(touch(id));
}

void Fold::on(const JobSubmitted& e) {
  check(e.job == state_.next_job_id(), "job ids are given in order");
  Job job;
  job.id = e.job;
  job.spec = std::make_shared<const JobSpec>(e.spec);
  job.range = e.spec.workers;
  job.held = e.spec.hold;
  job.submitted_at = job.eligible_at = job.changed_at = job.waiting_since = at_;
  recall_length(job);
  parts_.jobs.put(std::move(job));
  Job& added = touch(e.job);
  for (const JobId before : e.spec.after) {
    const Job* other = state_.find_job(before);
    if (other && !is_over(other->state)) state_.dependants_[before].insert(e.job);
  }
  const bool hopeless = std::any_of(e.spec.after.begin(), e.spec.after.end(), [&](JobId id) {
    const Job* other = state_.find_job(id);
    if (!other) return !state_.is_forgotten(id);
    return is_over(other->state) && other->state != JobState::completed;
  });
  if (hopeless) {
    end(added, JobState::cancelled,
        {Cause::dependency_failed, {}, 0, "a job it waits for did not complete", at_});
  }
}

void Fold::on(const JobRequested& e) {
  if (state_.is_forgotten(e.job)) return;
  Job& job = touch(e.job);
  if (is_over(job.state)) return;
  switch (e.request) {
    case Request::cancel:
      return cancel(job);
    case Request::pause:
      return pause(job);
    case Request::resume:
      return resume(job);
  }
}

void Fold::cancel(Job& job) {
  drop_forming(job);
  if (!job.current) return end_as_told(job, Cause::cancelled);
  stop_gang(job, {Cause::cancelled, at_, job.spec->notice.grace, {}});
  enter(job, JobState::stopping);
}

void Fold::pause(Job& job) {
  if (job.state == JobState::pending || job.lends()) job.held = true;
  if (job.lends()) drop_forming(job);
  if (job.state != JobState::running) return;
  enter(job, JobState::paused);
  job.paused_at = at_;
}

void Fold::resume(Job& job) {
  if (job.held) job.eligible_at = std::max(job.eligible_at, at_);
  job.held = false;
  if (job.state != JobState::paused || job.lends()) return;
  enter(job, JobState::running);
  job.paused_at.reset();
  if (job.newcomers_since() && !by_rules_before(3)) job.forming->started_at = at_;
  try_switch(job);
}

void Fold::on(const RangeSet& e) {
  if (state_.is_forgotten(e.job)) return;
  Job& job = touch(e.job);
  if (is_over(job.state)) return;
  job.range = e.range;
  job.pinned = true;
  if (!job.forming) wait_while_too_few(job);
}

// Its owner may have said that as many are enough.
void Fold::wait_while_too_few(Job& job) {
  if (job.awaits_replacements()) job.current->waits = job.current->size() < job.range.min;
}

void Fold::on(const PolicySet& e) {
  parts_.periods.push_back(PolicyPeriod{e.name, e.parameters, at_, 0, 0});
  if (parts_.periods.size() > kPeriodsMax) parts_.periods.erase(parts_.periods.begin());
  parts_.memo.clear();
  state_.new_policy_ = true;
  for (auto& order : state_.orders_) order.asked = false;
  for (auto& table : state_.tables_) table.asked = false;
}

void Fold::on(const PolicyLoaded& e) {
  if (e.text.empty())
    parts_.scripts.erase(e.name);
  else
    parts_.scripts.insert_or_assign(e.name, PolicyScript{e.text, at_, {}, {}});
}

void Fold::on(const PolicyFailed& e) {
  const auto script = parts_.scripts.find(e.name);
  if (script == parts_.scripts.end()) return;
  script->second.failure = e.why;
  script->second.failed_at = at_;
}

void Fold::on(const TrialBegan& e) { parts_.trial = PolicyTrial{e.name, e.parameters, at_}; }

void Fold::on(const TrialEnded&) { parts_.trial.reset(); }

void Fold::on(const RulesSet& e) {
  if (e.rules.reclaim_after) parts_.rules.reclaim_after = e.rules.reclaim_after;
}

// A job that is over holds nothing and stands in no index. Only its owner's sums stay.
void Fold::on(const JobsForgotten& e) {
  for (const JobId id : e.jobs) {
    const Job* job = state_.find_job(id);
    if (!job || !is_over(job->state)) continue;
    ForgottenSums& sums = parts_.forgotten[job->spec->user];
    ++sums.of(job->state);
    sums.waited += job->waited;
    sums.slot_seconds += job->slot_seconds;
    sums.lost += job->bill;
    parts_.jobs.take_out(id);
  }
}

void Fold::on(const JournalAccepted& e) {
  std::vector<JobId> live;
  for (const auto& key : state_.queue()) live.push_back(key.job);
  for (const JobId id : live) {
    Job& job = touch(id);
    job.last_generation = std::max(job.last_generation, e.generation);
  }
}

Worker* Fold::find_worker(std::optional<Gang>& gang, const ProcessKey& key) {
  const auto rank = gang ? gang->rank_of(key) : std::nullopt;
  return rank ? &gang->workers[static_cast<std::size_t>(*rank)] : nullptr;
}

// Of a gang that forms in place.
Worker* Fold::find_newcomer(Job& job, const ProcessKey& key) {
  if (!job.forms_in_place() || job.current->rank_of(key)) return nullptr;
  return find_worker(job.forming, key);
}

void Fold::on(const WorkerStarted& e) {
  if (!state_.find_job(e.worker.job)) return;
  Job& job = touch(e.worker.job);
  Worker* member = find_worker(job.current, e.worker);
  Worker* worker = member ? member : find_newcomer(job, e.worker);
  if (!worker || worker->state != WorkerState::assigned) return;
  worker->state = WorkerState::running;
  worker->pid = e.pid;
  if (member && job.current->all_started() && !job.current->started_at) all_run(job);
  if (!member && job.forming->all_started()) job.forming->started_at = at_;
}

void Fold::on(const WorkerReady& e) {
  if (!state_.find_job(e.worker.job)) return;
  Job& job = touch(e.worker.job);
  Worker* worker = find_newcomer(job, e.worker);
  if (!worker || job.forming->generation != e.generation) return;
  worker->ready = true;
  try_switch(job);
}

void Fold::on(const GangStands& e) {
  if (!speaks(e.job, e.generation)) return;
  Job& job = touch(e.job);
  if (!job.current || job.current->generation != e.generation) return;
  const bool waits = is_to_stand(job);
  job.current->in_place = true;
  if (!waits) return;
  job.current->failed = false;
  job.current->started_at = at_;
  measure_pause_in_place(job);
  enter(job, JobState::running);
}

void Fold::all_run(Job& job) {
  job.current->started_at = at_;
  job.refused.reset();
  if (job.state == JobState::resizing) measure_pause(job, job.last_resized_at);
  if (job.state == JobState::starting && job.started_at) measure_pause(job, job.last_changed_at);
  if (!job.started_at) job.started_at = at_;
  const bool comes_up = job.state == JobState::starting || job.state == JobState::resizing;
  if (comes_up && !job.current->stop) enter(job, JobState::running);
}

// What came after its end, unseen, is nobody's running.
void Fold::on(const WorkerEnded& e) {
  if (!state_.find_job(e.worker.job)) return;
  Job& job = touch(e.worker.job, at_ - e.unseen);
  if (Worker* worker = find_worker(job.current, e.worker)) {
    if (worker->state != WorkerState::ended) member_ended(job, *worker, e);
    return;
  }
  if (find_newcomer(job, e.worker) != nullptr) fail_newcomers(job);
  parting_ended(job, e);
}

void Fold::on(const NewcomersLate& e) {
  if (!state_.find_job(e.job)) return;
  Job& job = touch(e.job);
  const bool comes = job.newcomers_since() && job.forming->generation == e.generation;
  if (comes) return fail_newcomers(job);
  if (job.short_since() && job.current->generation == e.generation) give_up_waiting(job);
}

// The generation that they were to join doesn't come about. Where that happens again and again, the
// next is formed by a restart.
void Fold::fail_newcomers(Job& job) {
  drop_forming(job);
  if (!by_rules_before(6)) wait_while_too_few(job);
  if (++job.current->joins_failed < kJoinsFailedMax) return;
  job.current->in_place = false;
  if (job.awaits_replacements()) give_up_waiting(job);
}

void Fold::parting_ended(Job& job, const WorkerEnded& e) {
  const auto parting = std::ranges::find(job.parting, e.worker, &Parting::process);
  if (parting == job.parting.end()) return;
  const Seat seat = parting->worker.seat;
  job.parting.erase(parting);
  empty(e.worker, seat, at_ - e.unseen);
  if (job.parting.empty() && job.current->all_ended()) gang_over(job, at_ - e.unseen);
}

// Nothing forms in place where a member has ended.
void Fold::member_ended(Job& job, Worker& worker, const WorkerEnded& e) {
  const Ending& ending = e.ending;
  worker.state = WorkerState::ended;
  worker.ending = ending;
  if (job.forms_in_place() && !job.lends()) drop_forming(job);
  empty(e.worker, Seat(worker.seat), at_ - e.unseen);
  if (job.current->all_ended()) {
    if (job.parting.empty()) gang_over(job, at_ - e.unseen);
    return;
  }
  if (job.current->stop) return;
  if (ending.clean()) return dismiss_newcomers(job);
  if (goes_on_without(job, ending)) return go_on_without_the_dead(job, ending);
  Cause cause = ending.asks_requeue() ? Cause::requeue_asked : Cause::gang_failed;
  if (ending.cause == Cause::timed_out) cause = Cause::timed_out;
  // Until now it was what it is no longer; but where its machine ended it, its running was over
  // then.
  const bool ran = job.state == JobState::running || job.state == JobState::resizing;
  if (cause != Cause::timed_out || !ran) accrue(job, at_);
  drop_forming(job);
  const Duration grace =
      cause == Cause::gang_failed ? kGangFailureGrace : Duration{job.spec->notice.grace};
  stop_gang(job, {cause, at_, std::min(grace, job.spec->notice.grace), {}});
  enter(job, JobState::stopping);
}

// What a fenced generation says counts no longer: the newest that has run speaks for the job, and those
// whose workers went on in it.
bool Fold::speaks(JobId id, Generation generation) const {
  const Job* job = state_.find_job(id);
  if (!job || is_over(job->state)) return false;
  if (!job->current) return generation >= job->last_generation;
  return generation >= job->current->generation || generation >= job->current->oldest(id);
}

void Fold::on(const CheckpointAcknowledged& e) {
  if (!speaks(e.job, e.generation)) return;
  Job& job = touch(e.job);
  if (job.checkpoint && job.checkpoint->place && !job.checkpoint->place->ship.empty()) {
    job.kept = job.checkpoint;
    job.kept_at = job.saved_at;
  }
  job.checkpoint = e.checkpoint;
  if (!job.checkpoint->place) {
    job.kept.reset();
    if (!by_rules_before(6)) job.kept_at.clear();
  }
  if (job.current) {
    job.current->unsaved = Duration::zero();
    job.current->asked.reset();
  }
  job.saved_at = job.ran_at;
  job.quick_failures = 0;
}

// A copy of one that is no longer the newest serves until there is one of a newer, or it is lost.
void Fold::on(const CheckpointKept& e) {
  const Job* known = state_.find_job(e.job);
  if (known == nullptr || is_over(known->state) || !known->checkpoint || !e.checkpoint.place)
    return;
  Job& job = touch(e.job);
  auto& newest = *job.checkpoint;
  if (!newest.place || !newest.place->is_of(*e.checkpoint.place)) {
    if (newest.place && e.keeping == Keeping::kept) job.kept = e.checkpoint;
    if (e.keeping != Keeping::kept && job.kept && job.kept->place->is_of(*e.checkpoint.place)) {
      job.kept.reset();
      job.kept_at.clear();
    }
    return;
  }
  switch (e.keeping) {
    case Keeping::kept:
    case Keeping::unkept:
      newest.place = e.checkpoint.place;
      break;
    case Keeping::shared:
      newest.place.reset();
      break;
    case Keeping::lost:
      lose_checkpoint(job);
  }
  if (!job.forming || job.current) return;
  if (never_gets_checkpoint(job, *job.forming)) return requeue(job, Duration::zero());
  try_switch(job);
}

void Fold::on(const ModelPublished& e) {
  if (speaks(e.job, e.generation)) touch(e.job).model = e.model;
}

void Fold::on(const Progressed& e) {
  if (!speaks(e.job, e.generation)) return;
  Job& job = touch(e.job);
  if (!job.progress) job.progress.emplace();
  merge(*job.progress, e.report);
  note_progress(job, e.report);
  if (!job.current || e.generation >= job.current->generation) {
    measure_speed(job, e.generation);
    if (e.report.step_seconds) learn_interference(job, *e.report.step_seconds);
  }
  if (!job.spec->target) return;
  const Target& target = *job.spec->target;
  const auto metric = e.report.metrics.find(target.metric);
  if (metric == e.report.metrics.end()) return;
  auto& status = job.target;
  if (!status.delivered_at && meets(target, target.deliver, metric->second))
    status.delivered_at = at_;
  if (!status.reached_at && meets(target, target.final, metric->second)) status.reached_at = at_;
}

// Beside jobs of several kinds nobody can say whose doing it is; on a slot that is gone, of which
// device.
void Fold::learn_interference(const Job& job, double step_seconds) {
  if (job.state != JobState::running || !std::isfinite(step_seconds) || step_seconds <= 0) return;
  std::set<NodeId> nodes;
  for (const Worker& worker : job.current->workers) nodes.insert(worker.seat.node);
  std::set<std::string> neighbours;
  for (const NodeId node : nodes) {
    for (const Slot& slot : parts_.nodes[node.value].slots) {
      if (slot.lease && slot.lease->worker.job != job.id)
        neighbours.insert(kind_of(*state_.job(slot.lease->worker.job).spec));
    }
  }
  const Seat& first = job.current->workers.front().seat;
  const auto& model = parts_.nodes[first.node.value].slot_spec(first.slots[0]).model;
  if (model.empty()) return;
  const Shape shape{kind_of(*job.spec), model, job.current->size(),
                    static_cast<std::int32_t>(nodes.size())};
  if (neighbours.empty()) learn_alone(parts_.interference, shape, step_seconds, parts_.seq);
  if (neighbours.size() == 1)
    learn_beside(parts_.interference, shape, *neighbours.begin(), step_seconds, parts_.seq);
}

void Fold::on(const JobWarned& e) {
  if (!speaks(e.job, e.generation)) return;
  Job& job = touch(e.job);
  if (!job.current || e.generation < job.current->generation) return;
  auto& warnings = job.current->warnings;
  const auto at = std::ranges::lower_bound(warnings, e.warning);
  const bool known = at != warnings.end() && *at == e.warning;
  if (e.holds && !known) warnings.insert(at, e.warning);
  if (!e.holds && known) warnings.erase(at);
}

void Fold::on(const TimeLimitReached& e) {
  if (state_.is_forgotten(e.job)) return;
  Job& job = touch(e.job);
  if (is_over(job.state)) return;
  if (job.state == JobState::resizing && !job.current) return end_as_told(job, Cause::timed_out);
  if (!job.current) return;
  drop_forming(job);
  stop_gang(job, {Cause::timed_out, at_, job.spec->notice.grace, {}});
  enter(job, JobState::stopping);
}

void Fold::on(const ClockSet& e) {
  set_ahead(parts_.clock_marks, at_, e.by);
  if (e.boot) parts_.boot = e.boot;
}

}  // namespace paceline
