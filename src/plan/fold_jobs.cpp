#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "model/accrual.hpp"
#include "plan/apply.hpp"
#include "plan/fold.hpp"

namespace paceline {
namespace {

// How much an owner's or the clock's word weighs against another reason to stop: the heavier one
// stands.
int weight(Cause cause) {
  switch (cause) {
    case Cause::cancelled:
      return 3;
    case Cause::timed_out:
      return 2;
    case Cause::gang_failed:
    case Cause::requeue_asked:
      return 1;
    default:
      return 0;
  }
}

Duration backoff(std::int32_t times, Duration most = kBackoffMax) {
  const auto doublings = std::clamp(times - 1, 0, 20);
  return std::min(kBackoffFirst * (std::int64_t{1} << doublings), most);
}

bool fatal(const Ending& e) {
  return e.cause == Cause::out_of_memory || e.cause == Cause::launch_failed ||
         e.cause == Cause::setup_failed;
}

bool refused(const Ending& e) { return e.cause == Cause::refused; }

// The machine's doing, not the job's.
bool lost(const Ending& e) { return e.cause == Cause::node_lost || refused(e); }

// The next start would find the same.
bool missing(const Ending& e) { return e.cause == Cause::missing; }

// Its machine ended it while no server was there to do so.
bool out_of_time(const Ending& e) { return e.cause == Cause::timed_out; }

const Ending* find_ending(const Gang& gang, bool (*matches)(const Ending&)) {
  for (const auto& w : gang.workers) {
    if (w.ending && matches(*w.ending)) return &*w.ending;
  }
  return nullptr;
}

// A worker that was told to stop because another had failed, and leaves with 75 as it would at any
// notice, asks for nothing.
bool asks_requeue(const Gang& gang) {
  const bool failed = gang.stop && gang.stop->cause == Cause::gang_failed;
  return std::any_of(gang.workers.begin(), gang.workers.end(), [&](const Worker& w) {
    return w.ending && w.ending->asks_requeue() && !(failed && w.ending->at > gang.stop->at);
  });
}

}  // namespace

Job& Fold::touch(JobId id) { return touch(id, at_); }

Job& Fold::touch(JobId id, Time until) {
  Job& job = parts_.jobs.at(id);
  mark_touched(id);
  accrue(job, until);
  return job;
}

void Fold::mark_touched(JobId id) {
  const auto at = std::lower_bound(touched_.begin(), touched_.end(), id);
  if (at == touched_.end() || *at != id) touched_.insert(at, id);
}

void Fold::accrue(Job& job, Time until) {
  const Accrual accrual = accrued(job, until);
  job.changed_at = std::max(job.changed_at, until);
  if (accrual.spent == nullptr) return;
  job.slot_seconds += accrual.slot_seconds;
  job.*accrual.spent += accrual.passed;
  if (job.state == JobState::running) count_running(job, accrual.passed);
  if (accrual.lost != nullptr) bill(job, accrual.lost, accrual.slot_seconds);
}

void Fold::enter(Job& job, JobState state) {
  if (job.state == state) return;
  check(may_follow(job.state, state),
        fmt::format("{} may not follow {}", to_string(state), to_string(job.state)));
  job.state = state;
  if (state != JobState::pending) return;
  job.waiting_since = at_;
  recall_length(job);
}

void Fold::stop_gang(Job& job, Stop stop) {
  auto& known = job.current->stop;
  if (known && weight(known->cause) >= weight(stop.cause)) return;
  known = stop;
  mark_ending(job, *job.current);
}

void Fold::bill_lost_work(Job& job, Time until) {
  const Gang& gang = *job.current;
  if (!gang.started_at) return;
  const Duration unsaved = job.unsaved(gang.stop ? std::min(gang.stop->at, until) : until);
  const double lost = to_seconds(unsaved) * job.slots(gang.size());
  switch (gang.stop ? gang.stop->cause : Cause::exited) {
    case Cause::resized:
      return bill(job, &Bill::resize, lost);
    case Cause::preempted:
      return bill(job, &Bill::preemption, lost);
    default:
      return bill(job, &Bill::failure, lost);
  }
}

// What it had saved by it since the one before is lost: at once, or by the gang that runs from it.
void Fold::lose_checkpoint(Job& job) {
  double lost = 0;
  for (const RanAt& part : job.saved_at) {
    const auto before = std::ranges::find(job.kept_at, part.workers, &RanAt::workers);
    const Duration span = before == job.kept_at.end() ? part.span : part.span - before->span;
    lost += to_seconds(std::max(Duration::zero(), span)) * job.slots(part.workers);
  }
  job.checkpoint = std::exchange(job.kept, std::nullopt);
  job.saved_at = std::exchange(job.kept_at, {});
  if (job.current) return;
  bill(job, &Bill::failure, lost);
  forget_lost_work(job);
}

std::vector<JobId> Fold::lose_checkpoints_on(const std::string& node) {
  std::vector<JobId> losing;
  const auto look = [&](JobId id) {
    const auto& checkpoint = state_.job(id).checkpoint;
    if (checkpoint && checkpoint->place && checkpoint->place->node == node &&
        checkpoint->place->ship.empty())
      losing.push_back(id);
  };
  if (by_rules_before(5))
    for (const auto& key : state_.active()) look(key.job);  // they are in the queue, too
  for (const auto& key : state_.queue()) look(key.job);
  for (const JobId id : losing) lose_checkpoint(touch(id));
  return losing;
}

bool Fold::lacks_checkpoint(const Job& job, const Gang& gang) const {
  return job.checkpoint && std::ranges::any_of(gang.workers, [&](const Worker& worker) {
           return job.checkpoint->is_missing_on(parts_.nodes[worker.seat.node.value].spec.name);
         });
}

bool Fold::never_gets_checkpoint(const Job& job, const Gang& gang) const {
  return lacks_checkpoint(job, gang) && !job.checkpoint->place->unkept.empty();
}

// The next gang goes on from the newest checkpoint.
void Fold::forget_lost_work(Job& job) {
  job.ran_at = job.saved_at;
  job.speed_mark.reset();
}

// The cause decides the ending, not the exit code alone. A gang that had ended well, unseen, before
// its time limit was not ended by it; nor was one of which a worker had failed before.
void Fold::gang_over(Job& job, Time ended) {
  job.changed_at = std::max(job.changed_at, at_);
  const Gang& gang = *job.current;
  Cause stop = gang.stop ? gang.stop->cause : Cause::exited;
  const Ending* first = gang.first_failure();
  if (stop == Cause::timed_out && !first && ended < gang.stop->at) stop = Cause::exited;
  const Ending* over = find_ending(gang, out_of_time);
  const bool failed_before = over && first && !first->ours() && first->at < over->at;
  if (over && !failed_before && stop != Cause::cancelled) stop = Cause::timed_out;
  if (stop == Cause::cancelled || stop == Cause::timed_out) return end_as_told(job, stop);
  if (const Ending* e = find_ending(gang, missing)) {
    bill_lost_work(job, ended);
    return end(job, JobState::failed, Ending(*e));
  }
  if (const Ending* e = find_ending(gang, fatal)) return fail_or_retry(job, Ending(*e), ended);
  const bool made_room = stop == Cause::preempted || stop == Cause::resized;
  const bool saved =
      job.checkpoint && made_room && job.checkpoint->acknowledged_at >= gang.stop->at;
  if (!first && (!saved || job.should_stop())) {
    return end(job, JobState::completed, Ending(*gang.workers.front().ending));
  }
  if (made_room) return go_on(job, ended);
  if (find_ending(gang, lost)) {
    bill_lost_work(job, ended);
    return requeue(job, backoff_of_lost(job));
  }
  const Ending decisive = *first;
  if (asks_requeue(gang)) {
    count_failure(job);
    if (job.quick_failures >= kQuickFailuresMax) {
      return end(job, JobState::failed,
                 {Cause::crash_loop, decisive.exit_code, 0,
                  fmt::format("asked to be requeued {} times in a row without progress",
                              job.quick_failures),
                  at_});
    }
    return requeue(job, job.quick_failures > 0 ? backoff(job.quick_failures) : Duration::zero());
  }
  fail_or_retry(job, decisive, ended);
}

// A start that machines refuse finds them as they were, for a while.
Duration Fold::backoff_of_lost(Job& job) const {
  const bool quick = counts_as_quick(job);
  const Ending* no = by_rules_before(2) ? nullptr : find_ending(*job.current, refused);
  if (no == nullptr) return quick ? kBackoffFirst : Duration::zero();
  job.refused = {job.refused ? job.refused->times + 1 : 1, no->message};
  return quick ? backoff(job.refused->times, kRefusedBackoffMax) : Duration::zero();
}

bool Fold::counts_as_quick(const Job& job) const {
  const Gang& gang = *job.current;
  const bool progressed = job.checkpoint && job.checkpoint->acknowledged_at >= gang.formed_at;
  return !progressed && at_ - gang.formed_at < kQuickFailure;
}

// Whatever takes several of a gang's workers is one failure: those that die while the others meet
// anew, and those that are ended as too few are left, went with the first.
bool Fold::is_counted(const Job& job) const { return job.current->failed && !by_rules_before(2); }

void Fold::count_failure(Job& job) const {
  if (is_counted(job)) return;
  job.quick_failures = counts_as_quick(job) ? job.quick_failures + 1 : 0;
}

void Fold::go_on(Job& job, Time ended) {
  bill_lost_work(job, ended);
  forget_lost_work(job);
  job.current.reset();
  if (job.forming && (by_rules_before(6) || !never_gets_checkpoint(job, *job.forming)))
    return try_switch(job);
  requeue(job, Duration::zero());
}

void Fold::fail_or_retry(Job& job, const Ending& first, Time ended) {
  bill_lost_work(job, ended);
  if (job.retries_used >= job.spec->retries) return end(job, JobState::failed, first);
  count_failure(job);
  if (job.quick_failures >= kQuickFailuresMax) {
    return end(job, JobState::failed,
               {Cause::crash_loop, first.exit_code, first.signal,
                fmt::format("failed {} times in a row within {} s of its start, without progress",
                            job.quick_failures, static_cast<int>(to_seconds(kQuickFailure))),
                at_});
  }
  ++job.retries_used;
  requeue(job, backoff(job.retries_used));
}

void Fold::requeue(Job& job, Duration delay) {
  drop_forming(job);
  forget_lost_work(job);
  job.current.reset();
  job.held = job.held || job.paused_at;
  job.paused_at.reset();
  job.eligible_at = at_ + delay;
  enter(job, JobState::pending);
}

void Fold::end(Job& job, JobState state, Ending ending) {
  drop_forming(job);
  enter(job, state);
  job.current.reset();
  job.paused_at.reset();
  job.refused.reset();
  job.ended_at = at_;
  job.ending = std::move(ending);
  if (state == JobState::completed) learn_length(job);
  waits_no_more(job);
  ended_.push_back(job.id);
}

void Fold::waits_no_more(const Job& job) {
  for (const JobId before : job.spec->after) {
    const auto it = state_.dependants_.find(before);
    if (it == state_.dependants_.end()) continue;
    it->second.erase(job.id);
    if (it->second.empty()) state_.dependants_.erase(it);
  }
}

void Fold::end_as_told(Job& job, Cause cause) {
  if (cause == Cause::cancelled)
    return end(job, JobState::cancelled, {cause, {}, 0, "cancelled by its owner", at_});
  end(job, JobState::timeout, {cause, {}, 0, "over max_duration", at_});
}

void Fold::release_dependants(const Job& job) {
  const auto it = state_.dependants_.find(job.id);
  if (it == state_.dependants_.end()) return;
  const std::set<JobId> waiting = std::move(it->second);
  state_.dependants_.erase(it);
  for (const JobId id : waiting) {
    Job& dependant = touch(id);
    if (is_over(dependant.state)) continue;
    if (job.state == JobState::completed) {
      dependant.eligible_at = std::max(dependant.eligible_at, at_);
      continue;
    }
    end(dependant, JobState::cancelled,
        {Cause::dependency_failed,
         {},
         0,
         fmt::format("job {} did not complete", job.id.value),
         at_});
  }
}

}  // namespace paceline
