#include "plan/protection.hpp"

#include <algorithm>

#include "model/accrual.hpp"

namespace paceline {
namespace {

constexpr double kNoLimit = 1;        // all of its time
constexpr double kSecondsMax = 1e10;  // longer than anybody waits

double limit_of(const Job& job, ChangeKind kind, const LossLimits& limits) {
  if (goes_on(kind)) return job.spec->resize_loss.value_or(limits.resizes);
  return job.spec->stop_loss.value_or(limits.stops);
}

// 0 while none was measured.
double measured_pause(const Job& job, ChangeKind kind) {
  if (goes_on(kind) && job.resizes_in_place())
    return job.in_place_pauses > 0 ? job.in_place_pause : 0;
  return job.resize_pauses > 0 ? job.resize_pause : 0;
}

Time left_alone_until(const Snapshot& snapshot, const Job& job, const LossLimits& limits) {
  const Duration least = job.spec->minimum_run.value_or(limits.min_run);
  const Time until = job.current->started_at.value_or(snapshot.now) + least;
  return job.last_resized_at ? std::max(until, *job.last_resized_at + least) : until;
}

// The seconds of running undisturbed that pay for a disturbance; nothing: none do.
//
// Two debts have to be paid, both per slot. `owing`: what the job would have lost to this kind in
// all, less its allowance. `since_last`: what this disturbance costs, less the allowance of the
// time since the gang started. Each second adds `limit` to either allowance, so the larger debt
// over `limit` is the time. Work that a stop throws away grows as fast as the job runs, which the
// allowance never catches up with: then only a save helps.
std::optional<double> seconds_to_pay(const Snapshot& snapshot, const Job& job, ChangeKind kind,
                                     double limit) {
  const Accrual since = accrued(job, snapshot.now);
  const Bill lost = lost_with(job, since);
  const double slots = job.slots(job.current->size());
  const double pause = measured_pause(job, kind);
  const double ran = to_seconds(snapshot.now - job.current->started_at.value_or(snapshot.now));
  const bool forgets = kind == ChangeKind::stop && job.begins_anew();
  const double anew = forgets ? to_seconds(job.unsaved(snapshot.now)) : 0;
  const double held = job.slot_seconds + since.slot_seconds;
  const double lost_so_far = goes_on(kind) ? lost.resize : lost.preemption;
  const double owing = (lost_so_far - limit * held) / slots + pause + anew;
  const double since_last = pause - limit * ran;
  if (owing <= 0 && since_last <= 0) return 0;
  if (limit <= 0 || (owing > 0 && anew > 0)) return std::nullopt;
  const double seconds = std::max(owing, since_last) / limit;
  return seconds < kSecondsMax ? std::optional(seconds) : std::nullopt;
}

}  // namespace

const Node* node_not_heard(const State& state, const Job& job) {
  for (const Worker& worker : job.current->workers) {
    const Node* node = state.find_node(worker.seat.node);
    if (worker.state != WorkerState::ended && !node->up) return node;
  }
  return nullptr;
}

std::optional<Time> may_change_from(const Snapshot& snapshot, const Job& job, ChangeKind kind,
                                    const LossLimits& limits, Owed owed) {
  const Time left_alone = left_alone_until(snapshot, job, limits);
  const double limit = limit_of(job, kind, limits);
  if (owed == Owed::yes || limit >= kNoLimit) return left_alone;
  const auto seconds = seconds_to_pay(snapshot, job, kind, limit);
  if (!seconds) return std::nullopt;
  return std::max(left_alone, snapshot.now + from_seconds(*seconds));
}

}  // namespace paceline
