#include "plan/decide.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "plan/check.hpp"
#include "plan/draining.hpp"
#include "plan/protection.hpp"

namespace paceline {
namespace {

void honour_range(const Job& job, Draft& draft) {
  const std::int32_t now = job.current->size();
  const std::int32_t wanted = std::clamp(now, job.range.min, job.range.max);
  if (job.state == JobState::starting) draft.await_start(job.id);
  if (job.state != JobState::running && !job.awaits_replacements()) return;
  const auto leavers = static_cast<std::int64_t>(job.parting.size());
  if (leavers > 0)
    return draft.explain_wait(job.id, {ReasonCode::waits_for_leavers, {wanted, leavers}, {}});
  if (!job.resizable() && !job.awaits_replacements()) {
    draft.await_save(job.id);
    return draft.explain_wait(job.id, {ReasonCode::waits_for_checkpoint, {wanted}, {}});
  }
  if (const Node* node = node_not_heard(draft.snapshot().state, job))
    return draft.explain_wait(job.id, {ReasonCode::waits_for_node, {wanted}, node->spec.name});
  auto seats = draft.refit(job.id, wanted);
  if (!seats) {
    const auto more = static_cast<std::int64_t>(job.slots(wanted - now));
    return draft.explain_wait(
        job.id,
        {ReasonCode::waits_for_slots, {more, static_cast<std::int64_t>(draft.free().total())}, {}});
  }
  const auto why =
      job.awaits_replacements() ? ReasonCode::replaces_dead : ReasonCode::owner_resized;
  draft.resize(job.id, std::move(*seats), {why, {now, wanted}, {}});
}

void record_refused(const Draft& draft, Plan& plan) {
  for (const auto& [id, reason] : draft.refused()) {
    const Job& job = draft.snapshot().state.job(id);
    if (!draft.changed(id) && job.dropped.code != reason.code) plan.dropped.push_back({id, reason});
  }
}

}  // namespace

Result<Plan> decide(Draft& draft, const Decider& decider, std::vector<std::string>* left_out) {
  const Snapshot& snapshot = draft.snapshot();
  for (const JobId id : snapshot.state.out_of_range()) honour_range(snapshot.state.job(id), draft);
  leave_draining_nodes(draft);
  if (auto ok = decider(snapshot, draft); !ok) return fail(ok.error());
  Plan plan = draft.plan();
  record_refused(draft, plan);
  auto wrong = violations(snapshot, plan);
  if (wrong.empty()) return plan;
  if (left_out) {
    *left_out = std::move(wrong);
    return sound_part(snapshot, std::move(plan));
  }
  return fail(ErrorCode::invalid, fmt::format("Its plan is refused: {}", fmt::join(wrong, "; ")));
}

}  // namespace paceline
