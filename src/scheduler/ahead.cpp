#include "scheduler/ahead.hpp"

#include <algorithm>
#include <utility>

#include "forecast/plays.hpp"
#include "plan/apply.hpp"
#include "plan/decide.hpp"
#include "scheduler/explain.hpp"

namespace paceline {
namespace {

constexpr int kBudgetParts = 4;  // three plays with it, one without
constexpr Duration kDelayMin = std::chrono::seconds{5};
constexpr int kDelayPart = 20;  // of the time until then: less is no news

using Marks = std::map<JobId, ForecastMark>;

Marks play_without(const Lookout& lookout) {
  Forecast forecast(lookout.parts, lookout.now, decider(lookout.policy), lookout.placer,
                    lookout.protects);
  const Time until = lookout.clock() + kAheadBudget / kBudgetParts;
  while (forecast.step() && lookout.clock() <= until) {
  }
  return forecast.marks();
}

Expectations play_with(const Lookout& lookout, const StateParts& parts) {
  Plays plays(parts, lookout.now, decider(lookout.policy), lookout.placer, lookout.protects);
  const Time began = lookout.clock();
  while (plays.step()) {
    const auto part = kAheadBudget * static_cast<int>(plays.played() + 1) / kBudgetParts;
    if (lookout.clock() - began > part) plays.cut();
  }
  return plays.expectations();
}

// Later than without it by more than is lost in the noise.
std::optional<Duration> delay(const std::optional<ExpectedTime>& with,
                              const std::optional<Time>& without, Time now) {
  if (!with || !with->at || !without) return std::nullopt;
  const Duration by = *with->at - *without;
  if (by < std::max(kDelayMin, (*without - now) / kDelayPart)) return std::nullopt;
  return by;
}

void find_delayed(const Expectations& with, const Marks& without, Ahead& ahead) {
  for (const auto& [id, mark] : without) {
    const JobExpected& job = with.jobs.at(id);
    if (const auto by = delay(job.start, mark.started, with.as_of))
      ahead.delayed.push_back({id, true, *by});
    else if (const auto later = delay(job.end, mark.ended, with.as_of))
      ahead.delayed.push_back({id, false, *later});
  }
  std::stable_sort(ahead.delayed.begin(), ahead.delayed.end(),
                   [](const Delayed& a, const Delayed& b) { return a.by > b.by; });
  if (ahead.delayed.size() <= kDelayedMax) return;
  ahead.other_delayed = ahead.delayed.size() - kDelayedMax;
  ahead.delayed.resize(kDelayedMax);
}

Result<Plan> next_round(const Lookout& lookout, const Snapshot& snapshot) {
  Draft draft(snapshot, lookout.placer, lookout.protects);
  return decide(draft, decider(lookout.policy));
}

// Its place in line, and the jobs before it.
void find_place(const State& state, const Explanation& explanation, const Job& job, Ahead& ahead) {
  const auto& waiting = state.waiting();
  const auto place = waiting.find(queue_key(job));
  if (place == waiting.end()) return;  // it is held
  const auto before = static_cast<std::size_t>(std::distance(waiting.begin(), place));
  ahead.position = before + 1;
  auto other = waiting.begin();
  for (std::size_t i = 0; i < std::min(before, kJobsAheadMax); ++i, ++other)
    ahead.jobs_ahead.push_back({other->job, explanation.reason(state.job(other->job))});
}

// What the round that comes next would do with it.
void hold_round(const Lookout& lookout, const Snapshot& snapshot, JobId id, Ahead& ahead) {
  const auto plan = next_round(lookout, snapshot);
  if (!plan) return;
  const bool starts = std::any_of(plan->changes.begin(), plan->changes.end(),
                                  [&](const Change& change) { return change.job == id; });
  for (const Effect& effect : preview_of(snapshot, *plan).effects)
    if (effect.by == id) ahead.effects.push_back(effect);
  if (starts) return;
  const Explanation explanation(snapshot, &lookout.policy, lookout.placer, lookout.protects);
  const Job& job = snapshot.state.job(id);
  ahead.waits = explanation.reason(job, Viewer::owner);
  find_place(snapshot.state, explanation, job, ahead);
}

}  // namespace

Ahead look_ahead(Lookout lookout, const JobSpec& spec) {
  Ahead ahead;
  ahead.as_of = lookout.now;
  const Marks without = play_without(lookout);
  State state(std::move(lookout.parts));
  const JobId id = state.next_job_id();
  apply(state, {state.seq() + 1, lookout.now, Event(JobSubmitted{id, spec})});
  hold_round(lookout, {state, lookout.now}, id, ahead);
  const Expectations with = play_with(lookout, state.parts());
  ahead.expected = with.jobs.at(id);
  find_delayed(with, without, ahead);
  if (!ahead.waits) return ahead;
  ahead.changes = what_ifs({state.parts(), lookout.now, decider(lookout.policy), lookout.placer,
                            lookout.protects, lookout.clock},
                           id);
  return ahead;
}

}  // namespace paceline
