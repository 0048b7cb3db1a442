#include "scheduler/wakeups.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace paceline {
namespace {

// REQUIRES: in id order.
bool names(const std::vector<JobId>& jobs, JobId job) {
  return std::binary_search(jobs.begin(), jobs.end(), job);
}

// Events of one gang come one after the other.
void add_once(std::vector<JobId>& jobs, JobId job) {
  if (jobs.empty() || jobs.back() != job) jobs.push_back(job);
}

// May a job be resized from its first checkpoint on? Others can be because they go on in place.
bool frees_size(const Job& job) {
  return !job.checkpoint && job.spec->elastic == Elastic::automatic &&
         job.range.min < job.range.max;
}

// Does it let the job be resized, which could not be before?
bool frees_size(const Job& job, const GangStands& stands) {
  return frees_size(job) && job.current && job.current->generation == stands.generation &&
         !job.current->in_place;
}

// The job of which a worker is up, or all of a gang that went on in place.
std::optional<JobId> job_that_comes_up(const State& state, const Event& event) {
  if (const auto* started = std::get_if<WorkerStarted>(&event)) return started->worker.job;
  const auto* stands = std::get_if<GangStands>(&event);
  const Job* job = stands ? state.find_job(stands->job) : nullptr;
  if (!job || frees_size(*job, *stands)) return std::nullopt;
  return job->id;
}

// The job that stops as the plan of that time asked for, where that is all that the event tells.
const Job* job_that_stops(const State& state, const Event& event, Time planned) {
  std::optional<JobId> id;
  if (const auto* ended = std::get_if<WorkerEnded>(&event); ended && ended->ending.ours())
    id = ended->worker.job;
  if (const auto* saved = std::get_if<CheckpointAcknowledged>(&event)) id = saved->job;
  const Job* job = id ? state.find_job(*id) : nullptr;
  if (!job || !job->current || !job->current->stop) return nullptr;
  const Stop& stop = *job->current->stop;
  const bool made_room = stop.cause == Cause::preempted || stop.cause == Cause::resized;
  return made_room && stop.at == planned ? job : nullptr;
}

bool is_to_be_empty(const State& state, NodeId id) {
  const Node* node = state.find_node(id);
  return node != nullptr && node->drains() && !node->drain->order.keeps;
}

// Its owner wants another size, or its node is to be empty.
bool is_called_away(const State& state, const Job& job) {
  if (state.out_of_range().contains(job.id)) return true;
  if (state.draining().empty() || !job.current) return false;
  return std::ranges::any_of(job.current->workers, [&](const Worker& worker) {
    return is_to_be_empty(state, worker.seat.node);
  });
}

bool any_may_be_called_away(const State& state) {
  return !state.out_of_range().empty() || std::ranges::any_of(state.draining(), [&](NodeId node) {
    return is_to_be_empty(state, node);
  });
}

}  // namespace

void sort_once(std::vector<JobId>& jobs) {
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
}

void Wakeups::line_up(const Policy& policy) {
  quiet_ = policy.quiet();
  limits_ = policy.loss_limits();
  wanted_ = true;
}

// A report changes estimates, which the next round sees. So does a checkpoint, unless it lets the
// job be resized or a change was held back that may cost less now that this job has saved.
bool Wakeups::concerns_policy(const Event& event) const {
  if (const auto* saved = std::get_if<CheckpointAcknowledged>(&event)) {
    const Job* job = state_.find_job(saved->job);
    return names(saves_, saved->job) || (job && frees_size(*job));
  }
  return !std::holds_alternative<Progressed>(event) && !std::holds_alternative<TrialBegan>(event) &&
         !std::holds_alternative<TrialEnded>(event) &&
         !std::holds_alternative<JobsForgotten>(event) &&
         !std::holds_alternative<ModelPublished>(event) &&
         !std::holds_alternative<JobWarned>(event) && !std::holds_alternative<WorkerReady>(event);
}

// What became of a checkpoint that lay on one node says where a job may start that waits. A job that was
// stopped waits once its gang is over, and the plan that stopped it could not start it.
void Wakeups::see(News& news, const Event& event) const {
  const bool as_planned = quiet_ && quiet_->as_planned;
  const auto came_up = as_planned ? job_that_comes_up(state_, event) : std::nullopt;
  const Job* stops =
      as_planned && last_plan_ ? job_that_stops(state_, event, *last_plan_) : nullptr;
  if (came_up)
    add_once(news.came_up, *came_up);
  else if (const auto* kept = std::get_if<CheckpointKept>(&event))
    news.may_wait.push_back(kept->job);
  else if (stops != nullptr)
    stop_goes_on(news, *stops);
  else
    news.decides = news.decides || concerns_policy(event);
}

void Wakeups::stop_goes_on(News& news, const Job& job) {
  news.frees = true;
  add_once(job.current->stop->beneficiary ? news.made_way : news.may_wait, job.id);
}

// Those that a job made way for are before it in the policy's order: where nothing is free, nothing is for it.
// Owners and operators are not in that order, and what they wait for no plan foresees.
void Wakeups::take(const News& news, Time now) {
  const std::uint64_t free = state_.free_slots().total();
  const auto waits = [&](JobId id) {
    const Job* job = state_.find_job(id);
    return job != nullptr && !job->seated();
  };
  const auto has_room = [&](JobId id) {
    if (!waits(id)) return false;
    const Job& job = state_.job(id);
    return std::cmp_greater_equal(free, job.slots(job.range.min));
  };
  wanted_ = wanted_ || news.decides || std::ranges::any_of(news.may_wait, waits) ||
            std::ranges::any_of(news.made_way, has_room) ||
            (news.frees && free > 0 && any_may_be_called_away(state_));
  for (const JobId id : news.came_up) ask_when_it_may_change(id, now);
  if (wanted_) last_plan_.reset();
}

// A gang that is up may have to run for a while before it can be asked for its slots. Nobody but its owner, or
// its node, asks for them where the last round would not have.
void Wakeups::ask_when_it_may_change(JobId id, Time now) {
  const Job* job = state_.find_job(id);
  if (wanted_ || !job || job->state != JobState::running) return;
  const bool is_called = is_called_away(state_, *job);
  if (!is_called && !names(starts_, id)) return;
  const ChangeKind kind = job->resizable() ? ChangeKind::resize : ChangeKind::stop;
  std::optional<Time> from = now;
  if (protects_ == Protects::yes && !is_called)
    from = may_change_from({state_, now}, *job, kind, limits_, Owed::no);
  if (!from) return;
  wanted_ = *from <= now;
  if (!wanted_) revisit_at_ = std::min(revisit_at_.value_or(*from), *from);
}

bool Wakeups::due(Time now) {
  if (revisit_at_ && *revisit_at_ <= now) wanted_ = true;
  return wanted_ && quiet_ && (!last_round_ || now - *last_round_ >= coalesce_);
}

std::optional<Time> Wakeups::next(Time now) const {
  if (!wanted_) return revisit_at_;
  const Time soonest = last_round_ ? *last_round_ + coalesce_ : now;
  return std::min(soonest, revisit_at_.value_or(soonest));
}

void Wakeups::begin(Time now) {
  last_round_ = last_plan_ = now;
  revisit_at_.reset();
}

void Wakeups::end(const Awaited& awaited) {
  wanted_ = false;
  revisit_at_ = awaited.revisit_at;
  saves_ = awaited.saves;
  starts_ = awaited.starts;
  sort_once(saves_);
  sort_once(starts_);
}

}  // namespace paceline
