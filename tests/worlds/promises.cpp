#include "worlds/promises.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/reclaim.hpp"
#include "policy/patient.hpp"
#include "policy/waiting.hpp"

namespace paceline::testing {

Observed what_to_expect(const PolicyInfo& info, std::string_view policy_line) {
  const bool backfills = policy_line.find("greedy") != std::string_view::npos;
  return {info.elastic, info.preempts,
          info.name == "round-robin" || (info.name == "fifo" && !backfills), info.name == "fair"};
}

void Promises::expect(bool holds, const std::string& what) {
  if (!holds) broken_.push_back(what);
}

Plan Promises::decided(const State& state, bool explain) const {
  Draft draft({state, script_.world().now()}, script_.placer(), script_.protects());
  if (explain) draft.explain();
  return decide(draft, decider(script_.policy())).value();
}

void Promises::before_round() {
  const State& state = script_.world().state();
  plan_ = decided(state, false);
  expect(decided(state, true) == plan_, "explaining a round changes its plan");
  expect(decided(State(state.parts()), false) == plan_,
         "a state rebuilt from its parts gives another plan");
  check_victims();
  workers_.clear();
  for (const Job& job : state.jobs()) workers_[job.id] = job.planned_workers();
}

void Promises::after_round(const std::vector<std::string>& lines) {
  check_plan(plan_);
  for (const auto& line : lines)
    expect(!line.ends_with("\"\""), fmt::format("without a reason: {}", line));
  check_idle();
  remember_asked();
}

void Promises::check_plan(const Plan& plan) {
  for (const Change& change : plan.changes) {
    expect(!sentence(change.reason).empty(),
           fmt::format("job {} is changed without a reason", change.job.value));
    if (preempts(change.kind))
      check_stop(plan, change);
    else
      check_sizes(change);
  }
}

void Promises::check_sizes(const Change& change) {
  const Job& job = script_.world().job(change.job);
  const auto workers = static_cast<std::int32_t>(change.placement.size());
  expect(workers % job.spec->mesh.step() == 0,
         fmt::format("job {} gets {} workers in steps of {}", job.id.value, workers,
                     job.spec->mesh.step()));
  if (expected_.elastic || change.reason.code == ReasonCode::owner_resized ||
      change.reason.code == ReasonCode::replaces_dead)
    return;
  const bool same = workers_.at(job.id) == 0 ? workers == wanted(script_.world().state(), job)
                                             : workers == workers_.at(job.id);
  expect(same, fmt::format("a rigid policy gives job {} another size", job.id.value));
}

void Promises::check_stop(const Plan& plan, const Change& change) {
  const Job& job = script_.world().job(change.job);
  expect(expected_.preemptive && job.spec->preemptible,
         fmt::format("job {} may not be stopped", job.id.value));
  const bool starts = std::any_of(plan.changes.begin(), plan.changes.end(), [&](const Change& c) {
    return c.job == change.beneficiary && !preempts(c.kind) && workers_.at(c.job) == 0;
  });
  expect(starts, fmt::format("job {} is stopped for a job that does not start", job.id.value));
}

bool Promises::is_changed(const Job& job) const {
  return std::any_of(plan_.changes.begin(), plan_.changes.end(),
                     [&](const Change& change) { return change.job == job.id; });
}

// What it would give up is kept for somebody else.
bool Promises::sits_on_kept(const Job& job) const {
  const auto now = plan_.memo.find(std::string(kReservation));
  const auto kept = now == plan_.memo.end() ? reservation(script_.world().state())
                                            : Reservation::parse(now->second);
  if (!kept) return false;
  return std::any_of(kept->slots.begin(), kept->slots.end(), [&](const SlotId& slot) {
    const auto& lease = script_.world().state().slot(slot).lease;
    return lease && lease->worker.job == job.id;
  });
}

// Of the plan to come, in the world that it changes.
void Promises::check_victims() {
  for (const Change& change : plan_.changes) {
    if (change.kind != ChangeKind::stop) continue;
    const Job& giver = script_.world().job(change.job);
    check_asked_in_time(giver);
    const Job& starts = script_.world().job(change.beneficiary.value_or(change.job));
    const JobSpec& spec = *starts.spec;
    const bool fits_anywhere =
        spec.mesh.step() == 1 && spec.slots_per_worker == 1 && !spec.exclusive;
    if (expected_.by_tenant && fits_anywhere) check_loses_least(giver);
  }
}

// Whoever never saved was told so long before.
void Promises::check_asked_in_time(const Job& giver) {
  const World& world = script_.world();
  const Duration after = world.state().rules().reclaim_after.value_or(Duration::zero());
  if (giver.checkpoint || giver.spec->elastic == Elastic::restart || after == Duration::zero())
    return;
  const auto notice = notices_.find(giver.id);
  const bool told = notice != notices_.end() &&
                    notice->second.generation == giver.current->generation &&
                    world.now() - notice->second.at >= after;
  expect(told, fmt::format("job {} never saved and is stopped without a notice of {} s",
                           giver.id.value, to_seconds(after)));
}

// No job of the same tenant and priority that goes on, and could have given as much, would have lost
// less. Where every slot serves who starts.
void Promises::check_loses_least(const Job& giver) {
  const World& world = script_.world();
  const Snapshot snapshot = world.snapshot();
  Draft draft(snapshot, script_.placer(), script_.protects());
  const auto least = [](const Job& job) {
    return job.slots(job.resizable() ? job.range.min : job.workers());
  };
  const auto loss = [&](const Job& job) {
    const bool anew = !job.checkpoint && job.spec->elastic != Elastic::restart;
    return std::pair(anew, to_seconds(job.unsaved(world.now())) * job.slots(job.workers()));
  };
  for (const auto& key : world.state().active()) {
    const Job& other = world.job(key.job);
    const bool goes_on = other.state == JobState::running && other.preemptible() &&
                         other.range.contains(other.workers()) && !is_changed(other);
    const bool equal =
        other.spec->user == giver.spec->user && other.spec->priority == giver.spec->priority;
    if (!goes_on || !equal || least(other) < least(giver)) continue;
    if (must_be_asked(snapshot, other) || is_protected(snapshot, other.id)) continue;
    if (sits_on_kept(other) || !draft.affords(other.id, ChangeKind::stop)) continue;
    expect(loss(giver) <= loss(other), fmt::format("job {} is stopped, and job {} would lose less",
                                                   giver.id.value, other.id.value));
  }
}

void Promises::remember_asked() {
  for (const Asking& asking : plan_.asked) {
    const Job& job = script_.world().job(asking.job);
    if (asking.by && job.current)
      notices_.try_emplace(job.id, Notice{job.current->generation, script_.world().now()});
    if (!asking.by) notices_.erase(job.id);
  }
  std::erase_if(notices_, [&](const auto& notice) {
    const Job& job = script_.world().job(notice.first);
    return !job.current || job.current->generation != notice.second.generation || job.checkpoint;
  });
}

// Nobody waits next to free slots that it could start on, but behind the head of the line, or where
// they are kept for a job that waited for too long. A plan changes a job once: the one that it froze
// starts elsewhere in the next round at the earliest.
void Promises::check_idle() {
  if (expected_.blocks) return;
  const Snapshot snapshot = script_.world().snapshot();
  Draft draft(snapshot, script_.placer());
  if (const auto kept = reservation(snapshot.state)) draft.keep(kept->job, kept->slots);
  for (const auto& key : snapshot.state.waiting()) {
    const Job& job = snapshot.state.job(key.job);
    if (job.eligible_at > snapshot.now || is_changed(job)) continue;
    const auto workers = expected_.elastic ? job.range.min : wanted(snapshot.state, job);
    expect(!draft.fit(job.id, workers).has_value(),
           fmt::format("job {} waits and {} workers of it would fit", job.id.value, workers));
  }
}

}  // namespace paceline::testing
