#include "scheduler/wakeups.hpp"

#include <algorithm>
#include <variant>

namespace paceline {
namespace {

// REQUIRES: in id order.
bool names(const std::vector<JobId>& jobs, JobId job) {
  return std::binary_search(jobs.begin(), jobs.end(), job);
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

// Did the plan of that time ask for what the event tells?
bool is_asked_for(const State& state, const Event& event, Time planned) {
  const auto stops = [&](JobId id) {
    const Job* job = state.find_job(id);
    if (!job || !job->current || !job->current->stop) return false;
    const Stop& stop = *job->current->stop;
    return stop.at == planned && (stop.cause == Cause::preempted || stop.cause == Cause::resized);
  };
  if (const auto* ended = std::get_if<WorkerEnded>(&event))
    return stops(ended->worker.job) && ended->ending.ours();
  const auto* saved = std::get_if<CheckpointAcknowledged>(&event);
  return saved != nullptr && stops(saved->job);
}

// Its owner wants another size, or its node is to be empty.
bool is_called_away(const State& state, const Job& job) {
  if (state.out_of_range().contains(job.id)) return true;
  return job.current && std::ranges::any_of(job.current->workers, [&](const Worker& worker) {
           const Node* node = state.find_node(worker.seat.node);
           return node != nullptr && node->drains();
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
// job be resized or a change was held back that may cost less now that this job has saved. What became of one
// that lay on one node says where a job may start that waits.
bool Wakeups::concerns_policy(const Event& event) const {
  if (const auto* saved = std::get_if<CheckpointAcknowledged>(&event)) {
    const Job* job = state_.find_job(saved->job);
    return names(saves_, saved->job) || (job && frees_size(*job));
  }
  if (const auto* kept = std::get_if<CheckpointKept>(&event)) {
    const Job* job = state_.find_job(kept->job);
    return job && !job->seated();
  }
  return !std::holds_alternative<Progressed>(event) && !std::holds_alternative<TrialBegan>(event) &&
         !std::holds_alternative<TrialEnded>(event) &&
         !std::holds_alternative<JobsForgotten>(event) &&
         !std::holds_alternative<ModelPublished>(event) &&
         !std::holds_alternative<JobWarned>(event) && !std::holds_alternative<WorkerReady>(event);
}

void Wakeups::see(News& news, const Event& event) const {
  const bool as_planned = quiet_ && quiet_->as_planned;
  const auto came_up = as_planned ? job_that_comes_up(state_, event) : std::nullopt;
  if (came_up) {
    if (names(starts_, *came_up)) news.came_up.push_back(*came_up);
  } else if (concerns_policy(event)) {
    const bool planned = as_planned && last_plan_ && is_asked_for(state_, event, *last_plan_);
    news.decides = news.decides || !planned;
  }
}

void Wakeups::take(const News& news, Time now) {
  wanted_ = wanted_ || news.decides;
  for (const JobId id : news.came_up) ask_when_it_may_change(id, now);
  if (wanted_) last_plan_.reset();
}

// A gang that is up may have to run for a while before it can be asked for its slots.
void Wakeups::ask_when_it_may_change(JobId id, Time now) {
  const Job* job = state_.find_job(id);
  if (wanted_ || !job || job->state != JobState::running) return;
  const ChangeKind kind = job->resizable() ? ChangeKind::resize : ChangeKind::stop;
  std::optional<Time> from = now;
  if (protects_ == Protects::yes && !is_called_away(state_, *job))
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
