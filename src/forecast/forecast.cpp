#include "forecast/forecast.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/remaining.hpp"
#include "estimate/resize_cost.hpp"
#include "estimate/scaling.hpp"
#include "model/accrual.hpp"
#include "model/unmet.hpp"
#include "plan/apply.hpp"

namespace paceline {
namespace {

constexpr int kRoundsPerMoment = 50;  // a policy that changes its mind for ever is cut off
constexpr double kSpeedMin = 1e-6;

double seconds_left(const Job& job, Time now, Lengths lengths, double usual, double pace = 1) {
  const LengthLeft left = length_left_within(job, now, usual, pace);
  if (lengths == Lengths::likely) return left.likely;
  return lengths == Lengths::low ? left.low : left.high;
}

// A length that is known today, from whatever source, is declared: it no longer depends on reports
// that a forecast doesn't make.
void declare_length(Job& job, Time now, Lengths lengths, double pace) {
  if (length_source(job) == LengthSource::unknown) return;
  const double left = seconds_left(job, now, lengths, 0, pace);
  JobSpec spec = *job.spec;
  spec.expected_duration = length_to_declare(job, now, left);
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.progress.reset();
}

// What is over matters no more.
StateParts declare_lengths(StateParts parts, Time now, Lengths lengths) {
  std::vector<JobId> over;
  for (const Job& job : parts.jobs) {
    if (is_over(job.state))
      over.push_back(job.id);
    else
      declare_length(parts.jobs.at(job.id), now, lengths, pace_now(parts.nodes, job));
  }
  for (const JobId job : over) parts.jobs.take_out(job);
  return parts;
}

double median(std::vector<double> values) {
  if (values.empty()) return to_seconds(kUnknownLength);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Until the workers of a new gang run: nothing for a job that never ran.
Duration start_pause(const Job& job) {
  if (!job.started_at) return Duration::zero();
  return from_seconds(restart_pause(job));
}

// REQUIRES: it has a gang.
double speed_now(const State& state, const Job& job) {
  const std::int32_t workers = job.current->size();
  return Scaling(job).speed(workers) * pace(state.nodes(), job, workers);
}

Time end_of(double left, double speed, Time since) { return since + from_seconds(left / speed); }

}  // namespace

bool stands_still(const Job& job) { return job.held || job.paused_at.has_value(); }

Forecast::Forecast(StateParts parts, Time now, Decider decider, const Placer& placer,
                   Protects protects, std::uint64_t rounds_max, Lengths lengths)
    : state_(declare_lengths(std::move(parts), now, lengths)),
      now_(now),
      began_(now),
      decider_(std::move(decider)),
      placer_(placer),
      protects_(protects),
      rounds_left_(rounds_max),
      lengths_(lengths) {
  estimate();
  lost_before_ = lost();
}

void Forecast::estimate() {
  std::vector<double> known;
  for (const auto& key : state_.queue()) {
    const Job& job = state_.job(key.job);
    if (job.spec->expected_duration) known.push_back(to_seconds(*job.spec->expected_duration));
  }
  const double usual = median(std::move(known));
  for (const auto& key : state_.queue()) {
    const Job& job = state_.job(key.job);
    const bool unknown = length_source(job) == LengthSource::unknown;
    Work& work = work_[job.id];
    marks_[job.id];
    work.left = work.kept =
        unknown ? seconds_left(job, now_, lengths_, usual) : length_left(job, now_);
    work.since = work.saved_at = now_;
    live_.push_back(job.id);
    limits_.watch(job.id, job.limit_at());
    follow(job);
    if (work.speed > 0)
      work.kept += work_at_risk(job, now_) / job.slots(job.workers()) * work.speed;
    if (stands_still(job)) continue;
    counted_.push_back(job.id);
    guessed_ += static_cast<std::size_t>(unknown);
  }
}

bool Forecast::step() {
  if (over_) return false;
  pass_moment();
  const auto next = next_moment();
  over_ = !next || rounds_left_ == 0 || all_over();
  if (over_) return false;
  now_ = std::max(now_, *next);
  finish_due();
  for (const JobId id : limits_.take_due(now_)) tell(TimeLimitReached{id});
  return true;
}

void Forecast::pass_moment() {
  for (int i = 0; i < kRoundsPerMoment; ++i) {
    obey();
    save();
    if (!round()) return;
  }
}

std::vector<JobId> Forecast::active() const {
  std::vector<JobId> jobs;
  for (const auto& key : state_.active()) jobs.push_back(key.job);
  return jobs;
}

// Workers do what the state wants, until it wants nothing more of them now.
void Forecast::obey() {
  for (bool any = true; any;) {
    any = false;
    for (const JobId id : active()) any = obey(id) || any;
  }
}

bool Forecast::obey(JobId id) {
  const Job& job = state_.job(id);
  if (!job.current || job.state == JobState::paused) return false;
  if (is_to_stand(job)) return tell(GangStands{id, job.current->generation}), true;
  std::vector<ProcessKey> ends, comes, gets_ready;
  each_unmet(state_, job, [&](const ProcessKey& process, Unmet left, const Stop*) {
    (left == Unmet::end ? ends : left == Unmet::start ? comes : gets_ready).push_back(process);
  });
  const Ending told{Cause::signalled, {}, 15, {}, now_};
  for (const ProcessKey& process : ends) tell(WorkerEnded{process, told});
  if (!ends.empty()) return true;
  for (const ProcessKey& process : gets_ready)
    if (job.forming) tell(WorkerReady{process, job.forming->generation});
  if (!gets_ready.empty()) return true;
  return !comes.empty() && start_workers(job, comes);
}

namespace {

std::vector<ProcessKey> processes(const Job& job) {
  std::vector<ProcessKey> all;
  for (std::int32_t rank = 0; rank < job.current->size(); ++rank)
    all.push_back(job.current->process(job.id, rank));
  return all;
}

}  // namespace

bool Forecast::start_workers(const Job& job, const std::vector<ProcessKey>& workers) {
  auto& at = work_.at(job.id).starts_at;
  if (!at) at = now_ + start_pause(job);
  if (now_ < *at) return false;
  at.reset();
  for (const ProcessKey& process : workers) tell(WorkerStarted{process});
  return true;
}

bool Forecast::end_workers(const Job& job, const Ending& how) {
  for (const ProcessKey& process : processes(job)) tell(WorkerEnded{process, how});
  return true;
}

void Forecast::save() {
  for (const JobId id : active()) {
    const Job& job = state_.job(id);
    Work& work = work_.at(id);
    if (work.speed == 0 || !job.checkpoint || now_ - work.saved_at < kCheckpointEvery) continue;
    Checkpoint checkpoint = *job.checkpoint;
    checkpoint.acknowledged_at = now_;
    tell(CheckpointAcknowledged{id, job.current->generation, std::move(checkpoint)});
    work.kept = work.left;
    work.saved_at = now_;
  }
}

// True if it changed anything.
bool Forecast::round() {
  if (rounds_left_ == 0) return false;
  --rounds_left_;
  auto plan = decide();
  if (!plan || (plan->changes.empty() && plan->memo.empty() && plan->asked.empty())) return false;
  const bool changes = !plan->changes.empty();
  tell(std::move(*plan));
  return changes;
}

Result<Plan> Forecast::decide() {
  Draft draft({state_, now_}, placer_, protects_);
  auto plan = paceline::decide(draft, decider_);
  revisit_at_ = draft.awaited().revisit_at;
  return plan;
}

void Forecast::tell(std::variant<Event, Plan> body) {
  for (const JobId id : apply(state_, {state_.seq() + 1, now_, std::move(body)})) {
    const Job& job = state_.job(id);
    limits_.watch(job.id, job.limit_at());
    follow(job);
  }
}

void Forecast::follow(const Job& job) {
  const auto found = work_.find(job.id);
  if (found == work_.end()) return;
  Work& work = found->second;
  mark(job);
  if (is_over(job.state)) {
    work_.erase(found);
    return;
  }
  const bool runs = job.state == JobState::running;
  if (!job.current || (job.current->all_started() && !job.forms_in_place())) work.starts_at.reset();
  advance(work);
  if (runs == (work.speed > 0)) return;
  if (!runs && job.state != JobState::paused && !is_to_stand(job)) work.left = work.kept;
  work.speed = runs ? std::max(kSpeedMin, speed_now(state_, job)) : 0;
  work.kept = work.left;
  work.saved_at = now_;
}

void Forecast::mark(const Job& job) {
  auto& [started, ended] = marks_.at(job.id);
  if (job.state == JobState::running && !started) started = now_;
  if (is_over(job.state)) ended = now_;
}

void Forecast::advance(Work& work) const {
  work.left = std::max(0.0, work.left - to_seconds(now_ - work.since) * work.speed);
  work.since = now_;
}

void Forecast::finish_due() {
  for (const JobId id : active()) {
    const Work& work = work_.at(id);
    if (work.speed == 0 || end_of(work.left, work.speed, work.since) > now_) continue;
    end_workers(state_.job(id), {Cause::exited, 0, 0, {}, now_});
  }
}

std::optional<Time> Forecast::next_moment() const {
  std::optional<Time> next = limits_.next();
  const auto sooner = [&](Time at) {
    if (!next || at < *next) next = at;
  };
  for (const auto& [id, work] : work_) {
    if (work.speed > 0) sooner(end_of(work.left, work.speed, work.since));
    if (work.starts_at) sooner(*work.starts_at);
  }
  if (revisit_at_ && *revisit_at_ > now_) sooner(*revisit_at_);
  return next;
}

bool Forecast::all_over() const {
  return std::all_of(counted_.begin(), counted_.end(),
                     [&](JobId id) { return is_over(state_.job(id).state); });
}

// By user, so far.
std::map<std::string, Bill> Forecast::lost() const {
  std::map<std::string, Bill> sums;
  for (const JobId id : live_) {
    const Job& job = state_.job(id);
    sums[job.spec->user] += lost_with(job, accrued(job, now_));
  }
  return sums;
}

ForecastOutcome Forecast::outcome() const {
  ForecastOutcome outcome;
  outcome.jobs = counted_.size();
  outcome.guessed = guessed_;
  auto& means = outcome.means;
  for (const JobId id : counted_) {
    const Job& job = state_.job(id);
    const bool waits = accrued(job, now_).spent == &Job::waited;
    const Time end = job.ended_at.value_or(now_);
    means.completion += to_seconds(end - job.submitted_at);
    means.waiting += to_seconds(job.waited + (waits ? now_ - job.changed_at : Duration::zero()));
    means.makespan = std::max(means.makespan, to_seconds(end - began_));
    outcome.unfinished += static_cast<std::size_t>(!is_over(job.state));
  }
  const auto jobs = static_cast<double>(std::max<std::size_t>(1, outcome.jobs));
  means.completion /= jobs;
  means.waiting /= jobs;
  outcome.lost = lost();
  for (auto& [user, lost] : outcome.lost) {
    lost -= lost_before_.at(user);
    means.lost += lost;
  }
  return outcome;
}

}  // namespace paceline
