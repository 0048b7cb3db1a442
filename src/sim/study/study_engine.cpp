#include "sim/study/study_engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "model/unmet.hpp"

namespace paceline::sim {
namespace {

// What reports count in: steps of a run that has this many.
constexpr std::uint64_t kStepsOfARun = 1'000'000;
constexpr double kNeverUs = 1e18;  // 30,000 years

double us(Duration span) { return static_cast<double>(span.count()); }
// Not beyond what comes after every end.
Duration whole_us(double us) {
  return Duration{static_cast<std::int64_t>(std::ceil(std::min(us, kNeverUs)))};
}

std::vector<std::int32_t> slots_by_node(const Gang& gang) {
  std::map<NodeId, std::int32_t> slots;
  for (const Worker& worker : gang.workers)
    slots[worker.seat.node] += static_cast<std::int32_t>(worker.seat.slots.size());
  std::vector<std::int32_t> by_node;
  for (const auto& [node, count] : slots) by_node.push_back(count);
  return by_node;
}

// Of its slowest device.
double device_speed(const Truth& truth, const State& state, const Gang& gang) {
  if (truth.devices == nullptr) return 1;
  double slowest = std::numeric_limits<double>::infinity();
  for (const Worker& worker : gang.workers) {
    const auto& slots = state.find_node(worker.seat.node)->spec.slots;
    for (const std::uint32_t slot : worker.seat.slots)
      slowest = std::min(slowest, truth.devices->find(slots[slot].model)->second);
  }
  return slowest;
}

Pace pace_of(const Truth& truth, const State& state, const Gang& gang) {
  const double devices = device_speed(truth, state, gang);
  if (truth.training != nullptr)
    return truth.training->pace(slots_by_node(gang), truth.length, truth.reach).times(devices);
  return Pace(devices * truth.speedup->of(gang.size()) / truth.speedup->of(truth.wanted));
}

}  // namespace

StudyEngine::StudyEngine(Clock& clock, std::function<Truth(JobId)> truth_of, const Costs& costs,
                         const Hazards& hazards, std::uint64_t seed)
    : clock_(clock), truth_of_(std::move(truth_of)), costs_(costs), hazards_(hazards), rng_(seed) {}

Observed StudyEngine::observe() { return std::exchange(news_, {}); }

void StudyEngine::act(const State& state, std::span<const JobId> jobs) {
  for (const JobId id : jobs) follow(state, state.job(id));
}

StudyEngine::Run& StudyEngine::run_of(const Job& job) {
  if (job.id.value > runs_.size()) runs_.resize(job.id.value);
  Run& run = runs_[job.id.value - 1];
  if (!run.truth) {
    run.truth = truth_of_(job.id);
    run.left = run.kept = us(run.truth->length);
  }
  return run;
}

void StudyEngine::follow(const State& state, const Job& job) {
  if (!job.current || is_over(job.state)) return;
  Run& run = run_of(job);
  const auto left = unmet(job);
  if (left == Unmet::end)
    stop(run, job);
  else if (left == Unmet::start && run.generation != job.current->generation)
    begin(run, state, job);
  else if (run.phase == Phase::running && job.state == JobState::paused)
    freeze(run);
  else if (run.phase == Phase::frozen && job.state == JobState::running)
    thaw(run, job.id);
}

void StudyEngine::begin(Run& run, const State& state, const Job& job) {
  run.generation = job.current->generation;
  run.workers = job.current->size();
  run.slots = job.slots(run.workers);
  run.pace = pace_of(*run.truth, state, *job.current);
  run.phase = Phase::coming_up;
  run.since = clock_.now();
  ++run.stamp;
  if (run.cost == Duration::zero()) return come_up(run, job.id);
  plan(run.since + run.cost, job.id, Happening::comes_up, run);
}

void StudyEngine::come_up(Run& run, JobId job) {
  pay_pause(run);
  run.lost_to = nullptr;
  run.cost = Duration::zero();
  run.phase = Phase::running;
  run.since = clock_.now();
  for (std::int32_t rank = 0; rank < run.workers; ++rank)
    news_.events.emplace_back(WorkerStarted{{job, run.generation, rank}});
  plan_run(run, job);
}

void StudyEngine::freeze(Run& run) {
  progress(run, clock_.now());
  run.phase = Phase::frozen;
  ++run.stamp;
}

void StudyEngine::thaw(Run& run, JobId job) {
  run.phase = Phase::running;
  run.since = clock_.now();
  plan_run(run, job);
}

void StudyEngine::plan_run(Run& run, JobId job) {
  plan(run.since + whole_us(run.pace.us_for(run.left, 0)), job, Happening::done, run);
  if (hazards_.failures_per_slot_hour > 0) {
    const double rate = hazards_.failures_per_slot_hour * run.slots / 3600e6;  // per microsecond
    plan(run.since + whole_us(-std::log1p(-rng_.uniform()) / rate), job, Happening::failed, run);
  }
  if (hazards_.save_every > Duration::zero()) plan_save(run, job, run.since);
  plan_report(run, job);
}

void StudyEngine::plan_report(Run& run, JobId job) {
  if (run.truth->reports <= run.reported) return;
  const double length = us(run.truth->length);
  const double left_then = length * (1 - (run.reported + 1.0) / (run.truth->reports + 1.0));
  const double us = run.pace.us_for(run.left, std::min(run.left, left_then));
  plan(run.since + whole_us(us), job, Happening::reports, run);
}

void StudyEngine::plan_save(Run& run, JobId job, Time last) {
  run.saves_at = last + hazards_.save_every;
  saves_.push({*run.saves_at, job, Happening::saves, run.stamp});
}

void StudyEngine::plan(Time at, JobId job, Happening what, const Run& run) {
  due_.push({at, job, what, run.stamp});
}

void StudyEngine::progress(Run& run, Time until) {
  if (run.phase == Phase::running) run.left = run.pace.left_after(run.left, us(until - run.since));
  run.since = until;
}

void StudyEngine::pay_pause(const Run& run) {
  if (run.lost_to != nullptr)
    losses_.*run.lost_to += to_seconds(clock_.now() - run.since) * run.slots;
}

// A gang that is stopped while it comes up has the whole cost before it again.
void StudyEngine::stop(Run& run, const Job& job) {
  const bool known = run.generation == job.current->generation;
  if (known && run.phase == Phase::none) return;
  const Cause cause = job.current->stop->cause;
  run.generation = job.current->generation;
  run.workers = job.current->size();
  if (run.phase == Phase::running || run.phase == Phase::frozen) {
    save(run, job.id, clock_.now());
    const bool resized = cause == Cause::resized;
    run.cost = resized ? costs_.resize : costs_.restart;
    run.lost_to = resized ? &Losses::resize : &Losses::preemption;
  } else if (run.phase == Phase::coming_up) {
    pay_pause(run);
  }
  run.phase = Phase::none;
  ++run.stamp;
  tell_ends(run, job.id, {cause, {}, 15, {}, clock_.now()});
}

void StudyEngine::save(Run& run, JobId job, Time at) {
  progress(run, at);
  run.kept = run.left;
  news_.events.emplace_back(CheckpointAcknowledged{job, run.generation, {"simulated", {}, {}, at}});
}

void StudyEngine::report(Run& run, JobId job, double trained) {
  ++run.reported;
  Progress progress;
  progress.step = static_cast<std::uint64_t>(trained * static_cast<double>(kStepsOfARun));
  if (run.truth->tells_total) progress.total_steps = kStepsOfARun;
  if (run.truth->learning != nullptr)
    progress.metrics.emplace(kQuality, run.truth->learning->at(trained));
  progress.reported_at = clock_.now();
  news_.events.emplace_back(Progressed{job, run.generation, std::move(progress)});
}

void StudyEngine::fail(Run& run, JobId job) {
  losses_.failure += run.pace.us_for(run.kept, run.left) * 1e-6 * run.slots;
  run.left = run.kept;
  run.cost = costs_.restart;
  run.lost_to = &Losses::failure;
  run.phase = Phase::none;
  ++run.stamp;
  tell_ends(run, job, {Cause::node_lost, {}, 0, "failed, as simulated", clock_.now()});
}

void StudyEngine::tell_ends(const Run& run, JobId job, const Ending& ending) {
  for (std::int32_t rank = 0; rank < run.workers; ++rank)
    news_.events.emplace_back(WorkerEnded{{job, run.generation, rank}, ending});
}

void StudyEngine::happen(const Due& due) {
  Run& run = runs_[due.job.value - 1];
  if (due.what == Happening::comes_up) return come_up(run, due.job);
  progress(run, due.at);
  switch (due.what) {
    case Happening::done:
      // What meets its target says so, and leaves.
      if (run.truth->learning != nullptr) report(run, due.job, run.truth->reach);
      run.phase = Phase::none;
      ++run.stamp;
      return tell_ends(run, due.job, {Cause::exited, 0, 0, {}, due.at});
    case Happening::failed:
      return fail(run, due.job);
    case Happening::reports:
      report(run, due.job, run.truth->reach * (1 - run.left / us(run.truth->length)));
      return plan_report(run, due.job);
    case Happening::comes_up:
    case Happening::saves:
      break;
  }
}

void StudyEngine::advance() {
  for (auto next = first_of(due_); next && *next <= clock_.now(); next = first_of(due_)) {
    const Due due = due_.top();
    due_.pop();
    happen(due);
  }
  take_saves();
}

// Whatever else happens to a job does so at an instant of its own: nothing lies between a save and
// now that would have changed its speed.
void StudyEngine::take_saves() {
  for (auto next = first_of(saves_); next && *next <= clock_.now(); next = first_of(saves_)) {
    const Due due = saves_.top();
    saves_.pop();
    Run& run = runs_[due.job.value - 1];
    save(run, due.job, due.at);
    plan_save(run, due.job, due.at);
  }
}

std::optional<Time> StudyEngine::first_of(Dues& dues) const {
  while (!dues.empty() && dues.top().stamp != runs_[dues.top().job.value - 1].stamp) dues.pop();
  if (dues.empty()) return std::nullopt;
  return dues.top().at;
}

std::optional<Time> StudyEngine::next_due() const {
  const auto due = first_of(due_);
  const auto save = hazards_.tells_saves ? first_of(saves_) : next_awaited_save();
  return due && save ? std::min(*due, *save) : due ? due : save;
}

std::optional<Time> StudyEngine::next_awaited_save() const {
  std::optional<Time> next;
  for (const JobId job : awaited_) {
    const Run& run = runs_[job.value - 1];
    if (run.phase != Phase::running || !run.saves_at) continue;
    next = std::min(next.value_or(*run.saves_at), *run.saves_at);
  }
  return next;
}

}  // namespace paceline::sim
