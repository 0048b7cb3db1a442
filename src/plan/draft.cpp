#include "plan/draft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "model/kind.hpp"
#include "plan/constraints.hpp"
#include "plan/lending.hpp"

namespace paceline {
namespace {

bool usable(const State& state, const Seat& seat) {
  const Node* node = state.find_node(seat.node);
  return std::all_of(seat.slots.begin(), seat.slots.end(),
                     [&](std::uint32_t i) { return node->usable(i); });
}

// The seats a job would give back and could take again.
template <class Visit>
void each_seat_of(const State& state, const Job& job, Visit visit) {
  if (job.lends()) return;
  for (const auto& worker : job.current->workers) {
    if (worker.state != WorkerState::ended && usable(state, worker.seat)) visit(worker.seat);
  }
}

Placement seats_of(const State& state, const Job& job) {
  Placement seats;
  each_seat_of(state, job, [&](const Seat& seat) { seats.push_back(seat); });
  return seats;
}

// Does it matter to the job who else stands on a node?
bool minds_others(const State& state, const JobSpec& spec) {
  return spec.cpus > 0 || spec.memory_bytes > 0 || spec.exclusive || !spec.affinity.empty() ||
         !state.aloof().empty() ||
         (!state.interference().pairs.empty() && state.interference().knows(kind_of(spec)));
}

}  // namespace

Draft::Draft(const Snapshot& snapshot, const Placer& placer, Judge judge)
    : snapshot_(snapshot),
      placer_(placer),
      judge_(std::move(judge)),
      free_(snapshot.state.free_slots()),
      standing_(snapshot.state) {
  check(!free_.what_if(), "one draft at a time");
  free_.mark();
}

Draft::~Draft() {
  free_.rewind(0);
  free_.end_what_if();
}

const FreeSlots& Draft::free() const { return free_; }

const Standing& Draft::standing() const {
  while (standing_.changes() < changes_.size()) standing_.add(changes_[standing_.changes()]);
  return standing_;
}

Placement Draft::seats(JobId id) const {
  const Job& job = snapshot_.state.job(id);
  return job.current ? seats_of(snapshot_.state, job) : Placement{};
}

bool Draft::changed(JobId job) const { return changed_.contains(job); }

std::int32_t Draft::workers(JobId job) const {
  const auto it = changed_.find(job);
  if (it == changed_.end()) return snapshot_.state.job(job).planned_workers();
  return static_cast<std::int32_t>(changes_[it->second].placement.size());
}

std::optional<Placement> Draft::fit(JobId id, std::int32_t workers) const {
  const Job& job = snapshot_.state.job(id);
  const auto need = static_cast<std::uint64_t>(job.slots(workers));
  if (need > free_.total()) return std::nullopt;
  return job.lends() ? fit_again(job, workers) : fit_anywhere(job, workers);
}

std::optional<Placement> Draft::fit_anywhere(const Job& job, std::int32_t workers) const {
  auto seats = placer_.fit(*this, job, workers);
  if (!seats && !job.spec->affinity.empty()) ask_again(gives_up_next(job, snapshot_.now));
  return seats;
}

std::optional<Placement> Draft::fit_again(const Job& job, std::int32_t workers) const {
  const auto size = frozen_workers(job);
  if (!size) return fit_anywhere(job, workers);
  Placement own = frozen_seats(job);
  if (may_go_on(job, own)) return workers == *size ? std::optional(std::move(own)) : std::nullopt;
  const Time until = waits_for_own_until(job);
  if (until <= snapshot_.now) return fit_anywhere(job, workers);
  ask_again(until);
  return std::nullopt;
}

bool Draft::may_go_on(const Job& job, const Placement& own) const {
  const Constraints constraints(standing(), job, snapshot_.now, kAllPreferred);
  return std::all_of(own.begin(), own.end(), [&](const Seat& seat) {
    const auto free = [&](std::uint32_t index) { return free_.is_free({seat.node, index}); };
    return std::all_of(seat.slots.begin(), seat.slots.end(), free) && constraints.allows(seat.node);
  });
}

void Draft::ask_again(const std::optional<Time>& at) const {
  if (at && (!revisit_at_ || *at < *revisit_at_)) revisit_at_ = at;
}

std::optional<Placement> Draft::refit(JobId id, std::int32_t workers) const {
  const Job& job = snapshot_.state.job(id);
  check(job.current.has_value() && !changed(id), "the job has seats that the draft left alone");
  const auto mark = free_.mark();
  release(id);
  auto found = placer_.refit(*this, job, seats_of(snapshot_.state, job), workers);
  free_.rewind(mark);
  return found;
}

std::optional<Placement> Draft::fit_if(JobId id, std::int32_t workers,
                                       std::span<const Part> givers) const {
  const auto mark = free_.mark();
  const bool minds = minds_others(snapshot_.state, *snapshot_.state.job(id).spec);
  if (minds) static_cast<void>(standing());
  std::vector<Change> given;
  for (const Part& giver : givers) {
    std::optional<Placement> kept;
    if (giver.workers > 0) {
      kept = refit(giver.job, giver.workers);
      if (!kept) continue;
    }
    release(giver.job);
    if (kept) take(*kept);
    if (!minds) continue;
    given.push_back({giver.kind, giver.job, {}, kept.value_or(Placement{}), {}, 0, {}});
    standing_.add(given.back());
  }
  auto found = fit(id, workers);
  for (; !given.empty(); given.pop_back()) standing_.pop(given.back());
  free_.rewind(mark);
  return found;
}

void Draft::release(JobId id) const {
  FreeSlots::Changes changes(free_);
  each_seat_of(snapshot_.state, snapshot_.state.job(id), [&](const Seat& seat) {
    for (const auto index : seat.slots) changes.set({seat.node, index}, true);
  });
}

void Draft::take(const Placement& seats) const {
  FreeSlots::Changes changes(free_);
  for (const Seat& seat : seats) {
    for (const auto index : seat.slots) {
      check(free_.is_free({seat.node, index}), "a draft takes only free slots");
      changes.set({seat.node, index}, false);
    }
  }
}

void Draft::record(Change change) {
  check(!changed(change.job), "a draft changes a job once");
  const Job& job = snapshot_.state.job(change.job);
  const bool stays = preempts(change.kind) || change.kind == ChangeKind::resume;
  change.generation = stays ? job.current->generation : Generation{job.last_generation.value + 1};
  if (!open_) ++trade_;
  change.trade = trade_;
  changed_.emplace(change.job, changes_.size());
  changes_.push_back(std::move(change));
}

void Draft::start(JobId id, Placement seats, Reason reason) {
  const Job& job = snapshot_.state.job(id);
  const bool lends = job.lends();
  const bool goes_on = lends && frozen_workers(job) && seats == frozen_seats(job);
  name_neighbour(job, seats, reason);
  if (lends && (reason.code == ReasonCode::starts || reason.code == ReasonCode::starts_at_min)) {
    reason.code = goes_on ? ReasonCode::goes_on : ReasonCode::starts_anew;
    reason.numbers.resize(1);
  }
  take(seats);
  if (lends && !goes_on) return record_resize(id, std::move(seats), std::move(reason), {});
  const ChangeKind kind = goes_on ? ChangeKind::resume : ChangeKind::start;
  record({kind, id, {}, std::move(seats), std::move(reason), 0, {}});
}

void Draft::name_neighbour(const Job& job, const Placement& seats, Reason& reason) const {
  if (reason.code != ReasonCode::starts && reason.code != ReasonCode::starts_at_min) return;
  if (!snapshot_.state.interference().knows(kind_of(*job.spec)) || !reason.text.empty()) return;
  for (const Seat& seat : seats) {
    const auto neighbour = worst_neighbour(standing(), job, seat.node);
    if (!neighbour) continue;
    reason.text = fmt::format("shares {} with '{}', beside which steps take {:.0f} % longer",
                              snapshot_.state.find_node(seat.node)->spec.name, neighbour->name,
                              100 * neighbour->slow_down);
    return;
  }
}

void Draft::resize(JobId id, Placement seats, Reason reason, std::optional<JobId> beneficiary) {
  release(id);
  take(seats);
  record_resize(id, std::move(seats), std::move(reason), beneficiary);
}

void Draft::resize_together(std::vector<Resized> jobs, const Reason& reason,
                            std::optional<JobId> beneficiary) {
  for (const Resized& each : jobs) release(each.job);
  for (const Resized& each : jobs) take(each.seats);
  for (Resized& each : jobs) record_resize(each.job, std::move(each.seats), reason, beneficiary);
}

void Draft::record_resize(JobId id, Placement seats, Reason reason,
                          std::optional<JobId> beneficiary) {
  const Job& job = snapshot_.state.job(id);
  const bool moves = static_cast<std::int32_t>(seats.size()) == job.current->size();
  record({moves ? ChangeKind::move : ChangeKind::resize,
          id,
          {},
          std::move(seats),
          std::move(reason),
          0,
          beneficiary});
}

void Draft::stop(JobId id, Reason reason, JobId beneficiary) {
  release(id);
  record({ChangeKind::stop, id, {}, {}, std::move(reason), 0, beneficiary});
}

void Draft::pause(JobId id, Reason reason, JobId beneficiary) {
  release(id);
  record({ChangeKind::pause, id, {}, {}, std::move(reason), 0, beneficiary});
}

void Draft::hold(JobId job, Reason reason) {
  if (explaining_) holds_.insert_or_assign(job, std::move(reason));
}

void Draft::begin_trade() {
  check(!open_, "one trade is open at a time");
  open_ = true;
  ++trade_;
  trade_first_ = changes_.size();
  trade_mark_ = free_.mark();
  trade_memo_ = memo_;
}

void Draft::drop_trade() {
  check(open_, "a trade is open");
  while (changes_.size() > trade_first_) {
    changed_.erase(changes_.back().job);
    if (standing_.changes() == changes_.size()) standing_.pop(changes_.back());
    changes_.pop_back();
  }
  free_.rewind(trade_mark_);
  memo_ = std::move(trade_memo_);
  open_ = false;
}

bool Draft::end_trade(Owed owed) {
  check(open_, "a trade is open");
  std::vector<Part> parts;
  parts.reserve(changes_.size() - trade_first_);
  for (std::size_t i = trade_first_; i < changes_.size(); ++i) {
    const Change& change = changes_[i];
    parts.push_back({change.kind, change.job, static_cast<std::int32_t>(change.placement.size())});
  }
  if (parts.empty() || may_trade(parts, owed)) {
    open_ = false;
    return true;
  }
  drop_trade();
  return false;
}

bool Draft::may_trade(std::span<const Part> parts, Owed owed) {
  if (!judge_) return true;
  Verdict verdict = judge_.trade(snapshot_, parts, owed);
  const bool kept = verdict.kept;
  if (!kept) refused(parts, std::move(verdict));
  return kept;
}

bool Draft::may_change(JobId job, std::int32_t workers, Owed owed) {
  const Part part{ChangeKind::resize, job, workers};
  return may_trade({&part, 1}, owed);
}

void Draft::refused(std::span<const Part> parts, Verdict verdict) {
  if (verdict.again) revisit(*verdict.again);
  for (const Part& part : parts) {
    dropped_.emplace_back(part.job, reasons_.size());
    if (verdict.for_work && !begins(part.kind)) await_save(part.job);
  }
  reasons_.push_back(std::move(verdict.reason));
}

std::vector<std::pair<JobId, const Reason*>> Draft::dropped() const {
  auto order = dropped_;
  std::sort(order.begin(), order.end());
  std::vector<std::pair<JobId, const Reason*>> last;
  for (const auto& [job, reason] : order) {
    if (last.empty() || last.back().first != job) last.emplace_back(job, nullptr);
    last.back().second = &reasons_[reason];
  }
  return last;
}

bool Draft::may_stop_for(JobId id, std::int32_t workers) {
  if (!judge_.stops) return true;
  const Job& job = snapshot_.state.job(id);
  const auto slots = static_cast<std::int64_t>(job.slots(workers));
  const std::int64_t stopped = slots - static_cast<std::int64_t>(free_.total());
  if (stopped <= 0) return true;
  Verdict verdict = judge_.stops(snapshot_, job, slots, stopped);
  const bool kept = verdict.kept;
  if (!kept) {
    const Part starts{ChangeKind::start, id, workers};
    refused({&starts, 1}, std::move(verdict));
  }
  return kept;
}

std::string Draft::memo(std::string_view key) const {
  const std::string name(key);
  if (const auto it = memo_.find(name); it != memo_.end()) return it->second;
  const auto& known = snapshot_.state.memo();
  const auto it = known.find(name);
  return it == known.end() ? std::string() : it->second;
}

void Draft::remember(std::string key, std::string value) {
  if (memo(key) != value) memo_.insert_or_assign(std::move(key), std::move(value));
}

void Draft::revisit(Time at) {
  if (!revisit_at_ || at < *revisit_at_) revisit_at_ = at;
}

Plan Draft::plan() const {
  check(!open_, "no trade is open");
  Plan plan;
  plan.round = snapshot_.state.round() + 1;
  plan.changes = changes_;
  plan.memo = memo_;
  plan.promoted = promoted_;
  return plan;
}

}  // namespace paceline
