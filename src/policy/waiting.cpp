#include "policy/waiting.hpp"

#include <map>
#include <utility>

#include "placement/suiting.hpp"
#include "plan/constraints.hpp"
#include "plan/lending.hpp"

namespace paceline {
namespace {

std::int32_t whole_steps(const Job& job, std::int32_t workers) {
  return workers - workers % job.spec->mesh.step();
}

}  // namespace

bool startable(const Job& job, const Snapshot& snapshot, Draft& draft) {
  if (job.eligible_at <= snapshot.now) return true;
  draft.revisit(job.eligible_at);
  draft.explain_wait(job.id,
                     {ReasonCode::backs_off,
                      {std::max(job.retries_used, job.quick_failures), to_us(job.eligible_at)},
                      {}});
  return false;
}

std::int32_t wanted(const State& state, const Job& job) {
  if (const auto frozen = frozen_workers(job)) return *frozen;
  if (job.range.min == job.range.want) return job.range.want;
  const std::int32_t group = job.spec->mesh.tensor;  // stays on one node
  const bool any = !is_particular(*job.spec) && !state.topology().is_choosy();
  const auto groups = any ? state.workers_ever(group * job.spec->slots_per_worker)
                          : groups_ever(state, *job.spec, (job.range.want + group - 1) / group);
  const auto most = std::min<std::int64_t>(groups * group, job.range.want);
  return std::max(job.range.min, static_cast<std::int32_t>(most - most % job.spec->mesh.step()));
}

bool takes_any_slots(const Draft& draft, const Job& job) {
  return !job.lends() && job.spec->affinity.empty() && job.spec->mesh.tensor == 1 &&
         Constraints(draft.standing(), job, draft.snapshot().now, kAllPreferred).only_its_users();
}

std::string_view equal_room(const State& state, const Job& job) {
  return state.topology().is_choosy() ? std::string_view(job.spec->user) : std::string_view();
}

bool fits_by_count(const Job& job, const Draft& draft) {
  if (draft.kept_for().value_or(job.id) != job.id) return false;
  const State& state = draft.snapshot().state;
  const auto aloof = [&](const Change& change) {
    return keeps_others_off(*state.job(change.job).spec);
  };
  return job.spec->slots_per_worker == 1 && !state.topology().is_choosy() &&
         state.aloof().empty() && std::ranges::none_of(draft.changes(), aloof) &&
         takes_any_slots(draft, job);
}

void start_in_order(const Snapshot& snapshot, Draft& draft,
                    const std::function<bool(const Job&)>& start) {
  std::optional<Reason> behind;
  for (const auto& key : snapshot.state.waiting()) {
    const Job& job = snapshot.state.job(key.job);
    if (draft.changed(job.id) || !startable(job, snapshot, draft)) continue;
    if (behind) {
      draft.explain_wait(job.id, *behind);
      continue;
    }
    if (start(job)) continue;
    const bool may_pass = frozen_workers(job).has_value();  // it waits for no slots but its own
    if (!draft.explaining() && !may_pass) return;
    const Reason lacks = lacks_slots(draft, job, wanted(snapshot.state, job));
    draft.explain_wait(job.id, lacks);
    if (may_pass) continue;
    behind =
        Reason{ReasonCode::waits_behind, {job.id.value, lacks.numbers[0], lacks.numbers[1]}, {}};
  }
}

void start_rest(const Snapshot& snapshot, Draft& draft, const Rest& rest) {
  // By the slots of a worker, and by whose it is: so many workers of a job that takes any slots found no seats,
  // so that no job with as many does.
  std::map<std::pair<std::int32_t, std::string_view>, std::int32_t> hopeless;
  const auto free = [&] { return static_cast<std::int64_t>(draft.free().total()); };
  if (free() == 0) return;
  auto walk = snapshot.state.waiting_by(rest.order).walk();
  while (const OrderKey* at = walk.next(free())) {
    const Job& job = snapshot.state.job(at->job);
    if (draft.changed(job.id) || !startable(job, snapshot, draft)) continue;
    const std::int32_t n = rest.sizes == Sizes::wanted || frozen_workers(job)
                               ? wanted(snapshot.state, job)
                               : whole_steps(job, job.range.min);
    const std::pair kind(job.spec->slots_per_worker, equal_room(snapshot.state, job));
    auto& limit = hopeless.try_emplace(kind, kWorkersMax + 1).first->second;
    if (job.slots(n) > free() || n >= limit) continue;
    auto seats = draft.fit(job.id, n);
    if (seats) {
      const bool partly = rest.sizes == Sizes::smallest && n < job.range.max;
      draft.start(job.id, std::move(*seats),
                  partly ? Reason{ReasonCode::starts_at_min, {n, job.range.max}, {}}
                         : Reason{ReasonCode::starts, {n}, {}});
    } else if (takes_any_slots(draft, job)) {
      limit = std::min(limit, n);
    }
  }
}

void say_why_waiting(const Snapshot& snapshot, Draft& draft, const Rest& rest) {
  if (!draft.explaining()) return;
  for (const auto& key : snapshot.state.waiting()) {
    const Job& job = snapshot.state.job(key.job);
    if (draft.changed(job.id) || draft.waits().contains(job.id)) continue;
    if (!startable(job, snapshot, draft)) continue;
    const auto n = rest.sizes == Sizes::wanted ? wanted(snapshot.state, job) : job.range.min;
    Reason reason = lacks_slots(draft, job, n);
    if (!rest.before.empty() && reason.code == ReasonCode::waits_for_slots) {
      reason.code = ReasonCode::waits_for_others;
      reason.text = rest.before;
    }
    draft.explain_wait(job.id, std::move(reason));
  }
}

}  // namespace paceline
