#include "scheduler/what_if.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "plan/draft.hpp"

namespace paceline {
namespace {

constexpr int kPlaysMax = 8;
constexpr int kSizesMax = 4;
constexpr Duration kSoonerMin = std::chrono::seconds{5};
constexpr int kSoonerPart = 10;  // at least a tenth of the wait is gained

using Alter = std::function<void(Job&, JobSpec&)>;

// When the job would start with one change.
std::optional<Time> start_with(const Playground& playground, JobId id, const Alter& alter) {
  StateParts parts = playground.parts;
  Job& job = parts.jobs.at(id);
  JobSpec spec = *job.spec;
  alter(job, spec);
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  Forecast forecast(std::move(parts), playground.now, playground.decider, playground.placer,
                    playground.protects);
  const auto& started = forecast.marks().at(id).started;
  const Time until = playground.clock() + kWhatIfBudget / kPlaysMax;
  while (!started && forecast.step() && playground.clock() <= until) {
  }
  return started;
}

// Smaller sizes of whole copies of the model, the largest first: what is free now, then halves.
std::vector<std::int32_t> smaller_sizes(const Playground& playground, const Job& job) {
  const State state{StateParts(playground.parts)};
  const Draft draft({state, playground.now}, playground.placer, playground.protects);
  const std::int32_t step = job.spec->mesh.step();
  const auto whole = [&](std::int64_t workers) {
    return static_cast<std::int32_t>(workers / step * step);
  };
  std::set<std::int32_t, std::greater<>> sizes;
  const auto add = [&](std::int32_t workers) {
    if (workers > 0 && workers < job.range.min) sizes.insert(workers);
  };
  add(whole(std::min<std::int64_t>(draft.free_for(job.id) / job.spec->slots_per_worker,
                                   job.range.min - 1)));
  for (std::int32_t half = job.range.min / 2; half > 0 && sizes.size() + 1 < kSizesMax; half /= 2)
    add(whole(half));
  add(step);
  return {sizes.begin(), sizes.end()};
}

std::optional<WhatIf> with_fewer_slots(const Playground& playground, const Job& job) {
  std::optional<WhatIf> best;
  for (const std::int32_t workers : smaller_sizes(playground, job)) {
    const auto at = start_with(playground, job.id, [&](Job& changed, JobSpec& spec) {
      changed.range = spec.workers = {workers, workers, workers};
    });
    if (at && (!best || *at < best->starts_at)) best = {Changed::slots, job.slots(workers), *at};
    if (best && best->starts_at <= playground.now) break;
  }
  return best;
}

// What it asks of its slots that it could do without.
std::vector<std::pair<Changed, Alter>> demands(const JobSpec& spec) {
  std::vector<std::pair<Changed, Alter>> all;
  const auto is_required = [](const Affinity& term) { return term.required(); };
  if (!spec.devices.empty())
    all.emplace_back(Changed::devices, [](Job&, JobSpec& changed) { changed.devices.clear(); });
  if (std::any_of(spec.affinity.begin(), spec.affinity.end(), is_required)) {
    all.emplace_back(Changed::affinity,
                     [=](Job&, JobSpec& changed) { std::erase_if(changed.affinity, is_required); });
  }
  if (spec.exclusive)
    all.emplace_back(Changed::exclusive, [](Job&, JobSpec& changed) { changed.exclusive = false; });
  return all;
}

}  // namespace

std::string_view to_string(Changed changed) {
  constexpr std::array<std::string_view, 4> kNames = {"slots", "devices", "affinity", "exclusive"};
  return kNames.at(static_cast<std::size_t>(changed));
}

std::vector<WhatIf> what_ifs(const Playground& playground, JobId id) {
  const Job* job = playground.parts.jobs.find(id);
  if (!job || job->state != JobState::pending || stands_still(*job)) return {};
  const auto as_it_is = start_with(playground, id, [](Job&, JobSpec&) {});
  std::vector<WhatIf> found;
  const auto consider = [&](const WhatIf& what_if) {
    const auto gained = as_it_is ? *as_it_is - what_if.starts_at : Duration::max();
    const auto wait = as_it_is ? *as_it_is - playground.now : Duration::zero();
    if (gained >= std::max(kSoonerMin, wait / kSoonerPart)) found.push_back(what_if);
  };
  if (as_it_is && *as_it_is <= playground.now) return {};
  if (const auto fewer = with_fewer_slots(playground, *job)) consider(*fewer);
  for (const auto& [changed, alter] : demands(*job->spec)) {
    if (const auto at = start_with(playground, id, alter)) consider({changed, 0, *at});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const WhatIf& a, const WhatIf& b) { return a.starts_at < b.starts_at; });
  if (found.size() > kWhatIfsMax) found.resize(kWhatIfsMax);
  return found;
}

}  // namespace paceline
