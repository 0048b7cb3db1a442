#include "plan/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.hpp"
#include "estimate/interference.hpp"
#include "model/kind.hpp"
#include "plan/constraints.hpp"
#include "plan/lending.hpp"
#include "plan/reclaim.hpp"

namespace paceline {
namespace {

constexpr int kAheadMax = 16;  // waiting jobs that are looked at before one grows

bool usable(const State& state, const Seat& seat) {
  const Node* node = state.find_node(seat.node);
  return std::all_of(seat.slots.begin(), seat.slots.end(),
                     [&](std::uint32_t i) { return node->offers(i); });
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

bool takes_any(const Placement& seats, const std::set<SlotId>& slots) {
  return std::ranges::any_of(seats, [&](const Seat& seat) {
    return std::ranges::any_of(seat.slots, [&](std::uint32_t index) {
      return slots.contains({seat.node, index});
    });
  });
}

// Does it matter to the job which other jobs stand on its nodes?
bool minds_others(const State& state, const JobSpec& spec) {
  return spec.cpus > 0 || spec.memory_bytes > 0 || spec.exclusive || !spec.affinity.empty() ||
         !state.aloof().empty() ||
         (!state.interference().pairs.empty() && knows(state.interference(), kind_of(spec)));
}

}  // namespace

std::optional<JobId> occupant(const Slot& slot) {
  if (slot.promise) return slot.promise->job;
  if (slot.lease) return slot.lease->worker.job;
  return std::nullopt;
}

std::vector<SlotId> slots_left_by(const State& state, const Job& job) {
  std::vector<SlotId> slots;
  const auto add_seat = [&](const Seat& seat) {
    if (!usable(state, seat)) return;
    for (const std::uint32_t index : seat.slots) {
      if (occupant(state.slot({seat.node, index})) == job.id) slots.push_back({seat.node, index});
    }
  };
  const auto add = [&](const Gang& gang) {
    for (const Worker& worker : gang.workers) add_seat(worker.seat);
  };
  if (job.forming) add(*job.forming);
  if (job.current) add(*job.current);
  for (const Parting& each : job.parting) add_seat(each.worker.seat);
  return slots;
}

Draft::Draft(const Snapshot& snapshot, const Placer& placer, Protects protects)
    : snapshot_(snapshot),
      placer_(placer),
      protects_(protects),
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

std::int64_t Draft::count_seats(JobId id) const {
  std::int64_t seats = 0;
  each_seat_of(snapshot_.state, snapshot_.state.job(id), [&](const Seat&) { ++seats; });
  return seats;
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
  if (job.slots(workers) > free_for(id)) return std::nullopt;
  if (!keeps_for(id)) return job.lends() ? fit_again(job, workers) : fit_anywhere(job, workers);
  const auto mark = free_.mark();
  show_kept();
  auto found = job.lends() ? fit_again(job, workers) : fit_anywhere(job, workers);
  free_.rewind(mark);
  return found;
}

std::optional<Placement> Draft::fit_anywhere(const Job& job, std::int32_t workers) const {
  auto seats = placer_.fit(*this, job, workers);
  if (!seats && !job.spec->affinity.empty()) ask_again(gives_up_next(job, snapshot_.now));
  return seats;
}

std::optional<Placement> Draft::fit_again(const Job& job, std::int32_t workers) const {
  if (node_not_heard(snapshot_.state, job) != nullptr) return std::nullopt;
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
  if (at && (!awaited_.revisit_at || *at < *awaited_.revisit_at)) awaited_.revisit_at = at;
}

std::optional<Placement> Draft::refit(JobId id, std::int32_t workers) const {
  const Job& job = snapshot_.state.job(id);
  check(job.current.has_value() && !changed(id), "the job has seats that the draft left alone");
  const auto mark = free_.mark();
  release(id);
  auto found = placer_.refit(*this, job, seats_of(snapshot_.state, job), workers);
  free_.rewind(mark);
  const bool grows = workers > std::max(job.current->size(), job.range.min);
  const Job* first = found && grows && line_kept_ ? short_of(job, *found) : nullptr;
  if (first == nullptr) return found;
  leaves_slots_.insert_or_assign(id, first->id);
  return std::nullopt;
}

// The first waiting job before `grows` in line that lacks slots and could stand on one of the seats
// that `grows` would take besides its own. Growing there would make it wait for longer. A job that
// needs more than the whole cluster offers now is no reason to leave slots idle.
const Job* Draft::short_of(const Job& grows, const Placement& seats) const {
  const State& state = snapshot_.state;
  const QueueKey own = queue_key(grows);
  const Placement held = seats_of(state, grows);
  const auto is_new = [&](const Seat& seat) {
    return std::find(held.begin(), held.end(), seat) == held.end();
  };
  int looked_at = 0;
  for (const QueueKey& key : state.waiting()) {
    if (own < key || ++looked_at > kAheadMax) return nullptr;
    const Job& job = state.job(key.job);
    if (job.eligible_at > snapshot_.now || changed(job.id)) continue;
    if (job.slots(job.range.min) > state.slots_available()) continue;
    const Constraints constraints(standing(), job, snapshot_.now, kAllPreferred);
    const auto serves = [&](const Seat& seat) {
      return is_new(seat) && constraints.allows(seat.node);
    };
    if (std::any_of(seats.begin(), seats.end(), serves)) return &job;
  }
  return nullptr;
}

// ---- kept slots ----

void Draft::keep(JobId job, std::vector<SlotId> slots) {
  check(!kept_, "a draft keeps slots for one job");
  std::sort(slots.begin(), slots.end());
  kept_ = Kept{job, std::move(slots), {}};
  FreeSlots::Changes changes(free_);
  for (const SlotId slot : kept_->slots) {
    if (!free_.is_free(slot)) continue;
    changes.set(slot, false);
    kept_->back.push_back(slot);
  }
}

std::optional<JobId> Draft::kept_for() const {
  return kept_ && !kept_->given ? std::optional(kept_->job) : std::nullopt;
}

bool Draft::keeps_for(JobId job) const { return kept_ && !kept_->given && kept_->job == job; }

std::int64_t Draft::free_for(JobId job) const {
  return static_cast<std::int64_t>(free_.total() + (keeps_for(job) ? kept_->back.size() : 0));
}

// Takes those of the job's released slots that are kept for another out of the free ones again.
void Draft::keep_back(JobId id) const {
  if (!kept_ || kept_->given) return;
  FreeSlots::Changes changes(free_);
  each_seat_of(snapshot_.state, snapshot_.state.job(id), [&](const Seat& seat) {
    for (const auto index : seat.slots) {
      const SlotId slot{seat.node, index};
      const auto& slots = kept_->slots;
      if (!free_.is_free(slot) || !std::binary_search(slots.begin(), slots.end(), slot)) continue;
      changes.set(slot, false);
      kept_->back.push_back(slot);
    }
  });
}

void Draft::show_kept() const {
  FreeSlots::Changes changes(free_);
  for (const SlotId slot : kept_->back) changes.set(slot, true);
}

void Draft::open_kept() {
  if (!kept_ || kept_->given) return;
  show_kept();
  kept_->given = true;
}

void Draft::protect(JobId job, Time until) { protected_.insert_or_assign(job, until); }

// Plays what the givers would give on the free slots, looks for seats, and takes everything back.
// The changes themselves are needed only where it matters which jobs stand on a node.
std::optional<Placement> Draft::fit_if(JobId id, std::int32_t workers,
                                       std::span<const Part> givers) const {
  const auto mark = free_.mark();
  const bool minds = minds_others(snapshot_.state, *snapshot_.state.job(id).spec);
  if (minds) static_cast<void>(standing());
  std::vector<Change> given;
  const std::size_t kept = kept_ ? kept_->back.size() : 0;
  for (const Part& giver : givers) {
    std::optional<Placement> left;
    if (giver.workers > 0) {
      left = refit(giver.job, giver.workers);
      if (!left) continue;
    }
    release(giver.job);
    if (left) take(*left);
    keep_back(giver.job);
    if (!minds) continue;
    given.push_back({giver.kind, giver.job, {}, left.value_or(Placement{}), {}, 0, {}});
    standing_.add(given.back());
  }
  auto found = fit(id, workers);
  for (; !given.empty(); given.pop_back()) standing_.pop(given.back());
  free_.rewind(mark);
  if (kept_) kept_->back.resize(kept);
  return found;
}

std::optional<Placement> Draft::fit_without(JobId id, std::int32_t workers,
                                            std::span<const JobId> gone) const {
  const auto mark = free_.mark();
  const bool minds = minds_others(snapshot_.state, *snapshot_.state.job(id).spec);
  if (minds) static_cast<void>(standing());
  std::vector<Change> stops;
  {
    FreeSlots::Changes changes(free_);
    for (const JobId other : gone) {
      if (changed(other)) continue;
      for (const SlotId slot : slots_left_by(snapshot_.state, snapshot_.state.job(other)))
        changes.set(slot, true);
      if (!minds) continue;
      stops.push_back({ChangeKind::stop, other, {}, {}, {}, 0, {}});
      standing_.add(stops.back());
    }
  }
  auto found = fit(id, workers);
  for (; !stops.empty(); stops.pop_back()) standing_.pop(stops.back());
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
  if (keeps_for(id)) open_kept();
  take(seats);
  if (lends && !goes_on) return record_resize(id, std::move(seats), std::move(reason), {});
  const ChangeKind kind = goes_on ? ChangeKind::resume : ChangeKind::start;
  record({kind, id, {}, std::move(seats), std::move(reason), 0, {}});
}

void Draft::name_neighbour(const Job& job, const Placement& seats, Reason& reason) const {
  if (reason.code != ReasonCode::starts && reason.code != ReasonCode::starts_at_min) return;
  if (!knows(snapshot_.state.interference(), kind_of(*job.spec)) || !reason.text.empty()) return;
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
  keep_back(id);
  record_resize(id, std::move(seats), std::move(reason), beneficiary);
}

// All give back before one takes: they may swap seats. What is kept for another is taken back last,
// of what none of them took.
void Draft::resize_together(std::vector<Resized> jobs, const Reason& reason,
                            std::optional<JobId> beneficiary) {
  for (const Resized& each : jobs) release(each.job);
  for (const Resized& each : jobs) take(each.seats);
  for (const Resized& each : jobs) keep_back(each.job);
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

void Draft::stop(JobId id, Reason reason, std::optional<JobId> beneficiary) {
  release(id);
  keep_back(id);
  record({ChangeKind::stop, id, {}, {}, std::move(reason), 0, beneficiary});
}

void Draft::pause(JobId id, Reason reason, JobId beneficiary) {
  release(id);
  keep_back(id);
  record({ChangeKind::pause, id, {}, {}, std::move(reason), 0, beneficiary});
}

void Draft::explain_wait(JobId job, Reason reason) {
  if (explaining_) waits_.insert_or_assign(job, std::move(reason));
}

void Draft::begin_trade() {
  check(!open_, "one trade is open at a time");
  open_ = true;
  ++trade_;
  trade_first_ = changes_.size();
  trade_mark_ = free_.mark();
  trade_kept_ = kept_ ? kept_->back.size() : 0;
  trade_given_ = kept_ && kept_->given;
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
  if (kept_) {
    kept_->back.resize(trade_kept_);
    kept_->given = trade_given_;
  }
  memo_ = std::move(trade_memo_);
  open_ = false;
}

void Draft::end_trade() {
  check(open_, "a trade is open");
  open_ = false;
}

// The machine for which the change would wait, perhaps for ever.
const Node* Draft::waits_for_node(JobId id, ChangeKind kind) const {
  const State& state = snapshot_.state;
  return goes_on(kind) ? node_not_heard(state, state.job(id)) : nullptr;
}

// From when on the job may be changed so: as the law says, but a job that was served after a long
// wait is not stopped or frozen before its protection ends, whatever is owed to others.
std::optional<Time> Draft::changes_from(JobId id, ChangeKind kind, Owed owed) const {
  if (waits_for_node(id, kind) != nullptr) return std::nullopt;
  std::optional<Time> from = snapshot_.now;
  if (protects_ == Protects::yes)
    from = may_change_from(snapshot_, snapshot_.state.job(id), kind, limits_, owed);
  const auto served = protected_.find(id);
  if (from && !goes_on(kind) && served != protected_.end()) from = std::max(*from, served->second);
  return from;
}

bool Draft::affords(JobId id, ChangeKind kind) const {
  const auto from = changes_from(id, kind, Owed::no);
  return from && *from <= snapshot_.now;
}

bool Draft::may_change(JobId id, ChangeKind kind, std::int32_t workers, Owed owed) {
  const auto from = changes_from(id, kind, owed);
  if (from && *from <= snapshot_.now) return true;
  if (from) {
    revisit(*from);
    refused_[id] = {ReasonCode::waits_for_window, {workers, to_us(*from)}, {}};
  } else if (const Node* node = waits_for_node(id, kind)) {
    refused_[id] = {ReasonCode::waits_for_node, {workers}, node->spec.name};
  } else if (snapshot_.state.job(id).begins_anew()) {
    await_save(id);
    refused_[id] = {ReasonCode::waits_for_checkpoint, {workers}, {}};
  }
  return false;
}

void Draft::ask(JobId id, JobId by) {
  if (!asked_.emplace(id, by).second) return;
  const Time at = may_stop_from(snapshot_, snapshot_.state.job(id));
  if (at > snapshot_.now) revisit(at);
}

// What differs from the state: jobs that are asked now, or for another job than before; and those
// that were asked and are no more. A job that this plan changes is asked nothing: the change is the
// answer.
std::vector<Asking> Draft::newly_asked() const {
  std::vector<Asking> asked;
  for (const auto& [id, by] : asked_) {
    const auto& known = snapshot_.state.job(id).current->asked;
    if (changed(id) || (known && known->by == by)) continue;
    asked.push_back({id, by, may_stop_from(snapshot_, snapshot_.state.job(id))});
  }
  for (const JobId id : snapshot_.state.asked()) {
    if (!asked_.contains(id) && !changed(id)) asked.push_back({id});
  }
  return asked;
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
  if (!awaited_.revisit_at || at < *awaited_.revisit_at) awaited_.revisit_at = at;
}

// Those that keep their seats, in the lowest ranks. None where the job can only be restarted: also where
// a newcomer, or another job while newcomers get ready, would wait for one that leaves.
void Draft::name_survivors(Change& change) const {
  const Job& job = snapshot_.state.job(change.job);
  if (!goes_on(change.kind) || !job.resizes_in_place()) return;
  std::set<SlotId> left;
  Placement seats;
  std::vector<Survivor> survivors;
  for (std::int32_t rank = 0; rank < job.current->size(); ++rank) {
    const Seat& seat = job.current->workers[static_cast<std::size_t>(rank)].seat;
    if (std::ranges::find(change.placement, seat) != change.placement.end()) {
      survivors.push_back(
          {job.current->process(job.id, rank), static_cast<std::int32_t>(survivors.size())});
      seats.push_back(seat);
    } else {
      for (const auto index : seat.slots) left.insert({seat.node, index});
    }
  }
  const bool grows = change.placement.size() > survivors.size();
  if (survivors.empty() || (grows && takes_any(change.placement, left))) return;
  if (grows && !left.empty() && others_take_any(change.job, left)) return;
  std::ranges::copy_if(change.placement, std::back_inserter(seats), [&](const Seat& seat) {
    return std::ranges::find(seats, seat) == seats.end();
  });
  change.placement = std::move(seats);
  change.survivors = std::move(survivors);
}

bool Draft::others_take_any(JobId but, const std::set<SlotId>& slots) const {
  return std::ranges::any_of(changes_, [&](const Change& change) {
    return change.job != but && takes_any(change.placement, slots);
  });
}

Plan Draft::plan() const {
  check(!open_, "no trade is open");
  Plan plan;
  plan.round = snapshot_.state.round() + 1;
  plan.changes = changes_;
  for (Change& change : plan.changes) name_survivors(change);
  plan.memo = memo_;
  plan.counted_anew = counted_anew_;
  plan.asked = newly_asked();
  return plan;
}

}  // namespace paceline
