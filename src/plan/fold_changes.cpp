#include <algorithm>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "model/unmet.hpp"
#include "plan/apply.hpp"
#include "plan/fold.hpp"
#include "plan/lending.hpp"

namespace paceline {

void Fold::on(const Plan& plan) {
  parts_.round = plan.round;
  if (std::exchange(state_.new_policy_, false)) drop_unasked();
  for (const auto& [key, value] : plan.memo) {
    if (value.empty())
      parts_.memo.erase(key);
    else
      parts_.memo[key] = value;
  }
  count_anew(plan.counted_anew);
  open_bill(plan);
  for (const Dropped& dropped : plan.dropped) touch(dropped.job).dropped = dropped.reason;
  for (const Asking& asking : plan.asked) ask(asking);
  for (const Change& change : plan.changes) {
    Job& job = touch(change.job);
    job.last_change = change.reason;
    job.last_changed_at = at_;
    job.dropped = {};
    if (change.kind == ChangeKind::stop)
      preempt(job, change);
    else if (change.kind == ChangeKind::pause)
      lend(job);
    else if (!begins(change.kind))
      resize(job, change);
  }
  // Jobs may take each other's slots: all of them are ending before any is promised.
  for (const Change& change : plan.changes) {
    Job& job = touch(change.job);
    if (change.kind == ChangeKind::start)
      start(job, change);
    else if (change.kind == ChangeKind::resume)
      take_back(job);
    else if (!preempts(change.kind)) {
      form(job, change);
      try_switch(job);
    }
  }
}

// What a former policy counted by, and this one does not.
void Fold::drop_unasked() {
  const auto unasked = [](const auto& kept) { return !kept.asked; };
  std::erase_if(state_.orders_, unasked);
  std::erase_if(state_.tables_, unasked);
}

// Starts cost no job anything, and a frozen job loses no work.
void Fold::open_bill(const Plan& plan) {
  const bool costs =
      std::any_of(plan.changes.begin(), plan.changes.end(), [](const Change& change) {
        return change.kind != ChangeKind::pause && !begins(change.kind);
      });
  if (!costs) return;
  parts_.bills.push_back({plan.round, plan.policy, at_});
  if (parts_.bills.size() > kPlanBillsMax) parts_.bills.erase(parts_.bills.begin());
}

void Fold::count_anew(std::span<const JobId> jobs) {
  for (const JobId id : jobs) {
    Job& job = touch(id);
    job.service_from = job.slot_seconds;
  }
}

// The job it is asked for may change; since when it is asked stays.
void Fold::ask(const Asking& asking) {
  Job& job = touch(asking.job);
  check(job.current.has_value(), "only a job with a gang is asked for its slots");
  auto& asked = job.current->asked;
  if (!asking.by)
    asked.reset();
  else if (asked)
    asked->by = *asking.by;
  else
    asked = Asked{*asking.by, at_};
}

void Fold::set_service_from(JobId id, double slot_seconds) {
  parts_.jobs.at(id).service_from = slot_seconds;
  mark_touched(id);
}

void Fold::form(Job& job, const Change& change) {
  check(!job.forming, "at most one generation forms");
  check(change.generation > job.last_generation, "generations are never reused");
  const auto empty = [](const Seat& seat) { return seat.slots.empty(); };
  check(!change.placement.empty() && std::ranges::none_of(change.placement, empty),
        "a gang has workers, each with slots");
  job.last_generation = change.generation;
  Gang gang;
  gang.generation = change.generation;
  gang.attempt = job.attempt + 1;
  gang.formed_at = at_;
  for (const Seat& seat : change.placement) gang.workers.push_back(Worker{seat, {}, 0, {}});
  if (!change.survivors.empty()) keep_survivors(job, change, gang);
  job.forming = std::move(gang);
  occupy(job, *job.forming);
}

// A process that is started bears no number of one that may still live: logs are named by it.
void Fold::keep_survivors(const Job& job, const Change& change, Gang& next) {
  const Gang& now = *job.current;
  next.attempt = job.attempt;
  std::set<std::int32_t> taken;
  for (std::int32_t rank = 0; rank < now.size(); ++rank)
    taken.insert(now.process(job.id, rank).number);
  for (const Survivor& survivor : change.survivors) {
    const auto before = now.rank_of(survivor.process);
    check(before && survivor.rank >= 0 && survivor.rank < next.size(),
          "only a worker of the current gang goes on, with a rank of the next");
    const Worker& worker = now.workers[static_cast<std::size_t>(*before)];
    Worker& same = next.workers[static_cast<std::size_t>(survivor.rank)];
    check(worker.state == WorkerState::running && worker.seat == same.seat && !same.process,
          "a worker that goes on runs, and stays where it is");
    same.state = worker.state;
    same.pid = worker.pid;
    same.process = survivor.process;
  }
  for (std::int32_t rank = 0; rank < next.size(); ++rank) {
    Worker& worker = next.workers[static_cast<std::size_t>(rank)];
    if (worker.process) continue;
    ProcessKey born{job.id, next.generation, rank};
    while (!taken.insert(born.number).second) ++born.number;
    if (born.number != rank) worker.process = born;
  }
}

// Where nobody joins, those that leave do so at once, and others may be promised their slots.
void Fold::leave_for_smaller(Job& job, const Change& change) {
  check(job.resizes_in_place(), "only a gang that can go on does");
  if (change.placement.size() > change.survivors.size()) return;
  for (std::int32_t rank = 0; rank < job.current->size(); ++rank) {
    const ProcessKey process = job.current->process(job.id, rank);
    const Seat& seat = job.current->workers[static_cast<std::size_t>(rank)].seat;
    const bool stays =
        std::ranges::find(change.survivors, process, &Survivor::process) != change.survivors.end();
    if (!stays) mark_ending(seat);
  }
}

// Those of the current gang that are no members leave.
void Fold::go_on_in_place(Job& job, Gang next) {
  next.unsaved = job.unsaved(at_);
  const Gang before = std::move(*job.current);
  next.in_place = true;
  next.started_at = at_;
  job.current = std::move(next);
  job.last_resized_at = at_;
  job.speed_mark.reset();
  enter(job, JobState::resizing);
  for (std::int32_t rank = 0; rank < before.size(); ++rank) {
    const ProcessKey process = before.process(job.id, rank);
    const Worker& worker = before.workers[static_cast<std::size_t>(rank)];
    if (!job.current->rank_of(process) && worker.state != WorkerState::ended)
      leave(job, {process, worker, {Cause::resized, at_, job.spec->notice.grace, {}}, true});
  }
}

void Fold::leave(Job& job, Parting parting) {
  mark_ending(parting.worker.seat);
  job.parting.push_back(std::move(parting));
}

// A lost machine is no failure of the job.
bool Fold::is_failure(const Ending& ending) const {
  return ending.cause != Cause::node_lost || by_rules_before(2);
}

// An error of the script's own is every rank's.
bool Fold::goes_on_without(const Job& job, const Ending& ending) const {
  const bool trains = job.state == JobState::running || job.state == JobState::resizing;
  const bool died = ending.cause == Cause::signalled || ending.cause == Cause::out_of_memory ||
                    ending.cause == Cause::node_lost;
  if (!trains || !died || !job.current->in_place || job.current->stop) return false;
  const auto& workers = job.current->workers;
  const auto left = std::ranges::count(workers, WorkerState::running, &Worker::state);
  if (left + 1 != std::ssize(workers)) return false;
  const bool counts = is_failure(ending) && !is_counted(job) && counts_as_quick(job);
  const bool loops = counts && job.quick_failures + 1 >= kQuickFailuresMax;
  const auto size = static_cast<std::int32_t>(left);
  const bool waits = !by_rules_before(4) && size > 0 && size < job.range.min;
  return !loops && job.spec->mesh.step() == 1 && (waits || job.range.contains(size));
}

void Fold::go_on_without_the_dead(Job& job, const Ending& ending) {
  if (is_failure(ending)) count_failure(job);
  Gang next;
  next.failed = job.current->failed || is_failure(ending);
  next.generation = job.last_generation = Generation{job.last_generation.value + 1};
  next.attempt = job.attempt;
  next.formed_at = at_;
  const Gang& now = *job.current;
  for (std::int32_t rank = 0; rank < now.size(); ++rank) {
    Worker worker = now.workers[static_cast<std::size_t>(rank)];
    if (worker.state == WorkerState::ended) continue;
    worker.process = now.process(job.id, rank);
    next.workers.push_back(std::move(worker));
  }
  next.waits = next.size() < job.range.min;
  go_on_in_place(job, std::move(next));
}

void Fold::dismiss_newcomers(Job& job) {
  if (!is_to_stand(job) || by_rules_before(4)) return;
  Gang& gang = *job.current;
  if (gang.oldest(job.id) == gang.generation) return;  // it was started as a whole
  std::vector<Worker> ended, newcomers;
  for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
    Worker worker = gang.workers[static_cast<std::size_t>(rank)];
    worker.process = gang.process(job.id, rank);
    const bool is_over = worker.state == WorkerState::ended;
    if (!is_over && worker.process->born != gang.generation) return;
    (is_over ? ended : newcomers).push_back(std::move(worker));
  }
  gang.workers = std::move(ended);
  for (Worker& worker : newcomers) {
    const ProcessKey process = *worker.process;
    leave(job,
          {process, std::move(worker), {Cause::resized, at_, job.spec->notice.grace, {}}, true});
  }
}

void Fold::give_up_waiting(Job& job) {
  stop_gang(job, {Cause::resized, at_, job.spec->notice.grace, {}});
  enter(job, JobState::stopping);
}

void Fold::start(Job& job, const Change& change) {
  check(job.state == JobState::pending && !job.current, "only a waiting job is started");
  enter(job, JobState::starting);
  form(job, change);
  try_switch(job);
}

void Fold::resize(Job& job, const Change& change) {
  check(job.current && (job.state == JobState::running || job.awaits_replacements() || job.lends()),
        "only a job that runs, waits for others or has lent its slots is resized");
  if (!change.survivors.empty()) return leave_for_smaller(job, change);
  enter(job, JobState::resizing);
  ++job.resizes;
  job.last_resized_at = at_;
  stop_gang(job, {Cause::resized, at_, job.spec->notice.grace, change.beneficiary});
}

void Fold::preempt(Job& job, const Change& change) {
  check(job.current.has_value(), "only a job with a gang is preempted");
  drop_forming(job);
  ++job.preemptions;
  stop_gang(job, {Cause::preempted, at_, job.spec->notice.grace, change.beneficiary});
  enter(job, JobState::stopping);
}

void Fold::lend(Job& job) {
  check(may_lend(state_, job), "only a job that may lend its slots is paused");
  ++job.preemptions;
  enter(job, JobState::paused);
  job.waiting_since = job.eligible_at = at_;
  job.current->lent_at = at_;
  lend_slots(job, *job.current);
}

// Its slots come back like those of a new generation; its workers stay frozen until all are there.
void Fold::take_back(Job& job) {
  check(job.lends() && !job.forming, "only a job that has lent its slots takes them back");
  job.forming = job.current;
  job.forming->lent_at.reset();
  occupy(job, *job.forming);
  try_switch(job);
}

void Fold::go_on_frozen(Job& job) {
  Gang& gang = *job.current;
  gang.unsaved = job.unsaved(at_);
  gang.lent_at.reset();
  gang.started_at = at_;
  job.forming.reset();
  job.speed_mark.reset();
  forget_lent(job, gang);
  enter(job, JobState::running);
}

}  // namespace paceline
