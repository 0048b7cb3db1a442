#include <algorithm>
#include <set>
#include <utility>

#include "base/check.hpp"
#include "model/kind.hpp"
#include "plan/fold.hpp"

namespace paceline {
namespace {

// In which of the state's sets a job stands, as its marks in the table say.
enum IndexMark : std::uint8_t {
  kQueued = 1,
  kActive = 2,
  kWaits = 4,
  kOutOfRange = 8,
  kLacksLength = 16,
  kAsked = 32
};

template <class Visit>
void for_each_slot(const Job& job, const Gang& gang, Visit visit) {
  for (std::size_t r = 0; r < gang.workers.size(); ++r) {
    const ProcessKey key = gang.process(job.id, static_cast<std::int32_t>(r));
    const Worker& worker = gang.workers[r];
    for (const auto index : worker.seat.slots) visit(key, worker, SlotId{worker.seat.node, index});
  }
}

// Is every process that is to join the gang there, and has all it needs?
bool newcomers_are_ready(const Job& job) {
  for (std::int32_t rank = 0; rank < job.forming->size(); ++rank) {
    const Worker& worker = job.forming->workers[static_cast<std::size_t>(rank)];
    if (job.joins(rank) && (worker.state != WorkerState::running || !worker.ready)) return false;
  }
  return true;
}

template <class Key>
void put(std::set<Key>& set, const Key& key, bool in) {
  if (in)
    set.insert(key);
  else
    set.erase(key);
}

}  // namespace

Slot& Fold::slot(SlotId id) {
  check(id.node.value < parts_.nodes.size(), "the node of a seat exists");
  auto& node = parts_.nodes[id.node.value];
  check(id.index < node.slots.size(), "the slot of a seat exists");
  return node.slots[id.index];
}

void Fold::update_free(SlotId id) {
  const Node& node = parts_.nodes[id.node.value];
  const Slot& s = node.slots[id.index];
  state_.free_.set_free(id, node.offers(id.index) && !s.lease && !s.promise);
}

void Fold::update_free(const Node& node) {
  for (std::uint32_t i = 0; i < node.slots.size(); ++i) update_free({node.id, i});
}

void Fold::index_drain(const Node& node) {
  put(state_.draining_, node.id, node.drains());
  put(state_.drains_announced_, node.id, node.drain && !node.drains());
  update_free(node);
}

void Fold::lease(SlotId id, const ProcessKey& worker) {
  Job& job = touch(worker.job);
  slot(id).lease = Lease{worker, false};
  ++job.leased;
  ++state_.slots_leased_;
  update_free(id);
}

void Fold::unlease(SlotId id, Time until) {
  Slot& s = slot(id);
  Job& job = touch(s.lease->worker.job, until);
  --job.leased;
  --state_.slots_leased_;
  s.lease.reset();
  update_free(id);
}

void Fold::occupy(Job& job, const Gang& gang) {
  for_each_slot(job, gang, [&](const ProcessKey& key, const Worker&, SlotId id) {
    Slot& s = slot(id);
    check(!s.promise, "a slot is promised once");
    if (!s.lease) return lease(id, key);
    if (s.lease->worker == key) return;  // it goes on where it is
    check(s.lease->ending, "only a slot whose lease is ending is promised");
    s.promise = key;
  });
}

void Fold::empty(const ProcessKey& worker, const Seat& seat, Time gone_at) {
  for (const auto index : seat.slots) {
    const SlotId id{seat.node, index};
    if (slot(id).lent == worker) slot(id).lent.reset();
    if (const auto& l = slot(id).lease; !l || l->worker != worker) continue;
    unlease(id, gone_at);
    Slot& s = slot(id);
    if (!s.promise) continue;
    const ProcessKey next = *std::exchange(s.promise, std::nullopt);
    lease(id, next);
    try_switch(touch(next.job));
  }
}

// Newcomers that may have been started leave; whatever else it held is free.
void Fold::drop_forming(Job& job) {
  if (!job.forming) return;
  const bool in_place = job.forms_in_place() && !job.current->lent_at;
  const Gang gang = *std::exchange(job.forming, std::nullopt);
  for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
    const ProcessKey key = gang.process(job.id, rank);
    const Worker& worker = gang.workers[static_cast<std::size_t>(rank)];
    if (worker.state == WorkerState::ended || (in_place && job.current->rank_of(key))) continue;
    if (in_place && state_.has_seat(key, worker.seat))
      leave(job, {key, worker, {Cause::resized, at_, Duration::zero(), {}}, false});
    else
      free_seat(key, worker.seat);
  }
}

void Fold::free_seat(const ProcessKey& key, const Seat& seat) {
  for (const auto index : seat.slots) {
    const SlotId id{seat.node, index};
    Slot& s = slot(id);
    if (s.promise == key) s.promise.reset();
    if (s.lease && s.lease->worker == key) unlease(id, at_);
    update_free(id);
  }
}

void Fold::mark_ending(const Job& job, const Gang& gang) {
  for_each_slot(job, gang, [&](const ProcessKey& key, const Worker& worker, SlotId id) {
    Slot& s = slot(id);
    if (worker.state != WorkerState::ended && s.lease && s.lease->worker == key)
      s.lease->ending = true;
  });
}

void Fold::mark_ending(const Seat& seat) {
  for (const auto index : seat.slots) slot({seat.node, index}).lease->ending = true;
}

bool Fold::all_leased(const Job& job, const Gang& gang) const {
  for (std::int32_t rank = 0; rank < gang.size(); ++rank) {
    const Seat& seat = gang.workers[static_cast<std::size_t>(rank)].seat;
    if (!state_.has_seat(gang.process(job.id, rank), seat)) return false;
  }
  return true;
}

void Fold::lend_slots(const Job& job, const Gang& gang) {
  for_each_slot(job, gang, [&](const ProcessKey& key, const Worker&, SlotId id) {
    unlease(id, at_);
    slot(id).lent = key;
  });
}

void Fold::forget_lent(const Job& job, const Gang& gang) {
  for_each_slot(job, gang,
                [&](const ProcessKey&, const Worker&, SlotId id) { slot(id).lent.reset(); });
}

void Fold::try_switch(Job& job) {
  if (!job.forming || !all_leased(job, *job.forming)) return;
  if (job.lends()) return go_on_frozen(job);
  if (job.forms_in_place()) {
    const bool may = job.state == JobState::running || job.awaits_replacements();
    if (!may || !newcomers_are_ready(job)) return;
    ++job.resizes;
    return go_on_in_place(job, *std::exchange(job.forming, std::nullopt));
  }
  if (job.current || lacks_checkpoint(job, *job.forming)) return;
  job.current = std::exchange(job.forming, std::nullopt);
  job.attempt = job.current->attempt;
}

void Fold::count_node(const Node& node, int sign) {
  const auto& slots = node.spec.slots;
  const auto count = [&](std::int64_t size, std::int64_t& total,
                         std::map<std::int64_t, std::int64_t>& sizes) {
    if (size == 0) return;
    total += sign * size;
    if ((sizes[size] += sign) == 0) sizes.erase(size);
  };
  // What strangers use now, or is out of order, comes back some day.
  count(std::ssize(slots), state_.slots_ever_, state_.sizes_ever_);
  if (node.up)
    count(std::ranges::count_if(slots, &SlotSpec::usable), state_.slots_available_,
          state_.sizes_up_);
}

bool Fold::dependencies_met(const Job& job) const {
  return std::all_of(job.spec->after.begin(), job.spec->after.end(), [&](JobId id) {
    const Job* other = state_.find_job(id);
    return other ? other->state == JobState::completed : state_.is_forgotten(id);
  });
}

void Fold::index_slots(const Node& node) {
  state_.topology_.set(node.id, node.spec);
  state_.free_.add_node(node.id, static_cast<std::uint32_t>(node.slots.size()),
                        state_.topology_.site(node.id));
  update_free(node);
}

// Most changes of a job leave it where it stands in most of the orders.
void Fold::reindex(const Job& job) {
  std::uint8_t& stands = parts_.jobs.marks(job.id);
  const auto moves = [&](IndexMark where, bool in) {
    const auto stood = stands;
    stands = static_cast<std::uint8_t>(in ? stood | where : stood & ~where);
    return stands != stood;
  };
  const bool over = is_over(job.state);
  if (moves(kQueued, !over)) put(state_.queue_, queue_key(job), !over);
  const bool active = !over && job.seated();
  if (moves(kActive, active)) index_active(job, active);
  for (auto& table : state_.tables_) table.index.put(job);
  const bool startable = job.state == JobState::pending || (job.lends() && !job.forming);
  const bool waits = startable && !job.held && dependencies_met(job);
  index_waiting(job, waits, moves(kWaits, waits));
  const bool lacks_length = waits && !job.spec->expected_duration;
  if (moves(kLacksLength, lacks_length)) index_name(job, lacks_length);
  const bool in_place = job.current && !job.forming && !job.current->stop && !job.lends();
  const bool out = !over && in_place && !job.range.contains(job.current->size());
  if (moves(kOutOfRange, out)) put(state_.out_of_range_, job.id, out);
  const bool asked = job.is_asked();
  if (moves(kAsked, asked)) put(state_.asked_, job.id, asked);
}

void Fold::index_active(const Job& job, bool active) {
  put(state_.active_, queue_key(job), active);
  auto& named = state_.active_by_name_;
  if (!active) {
    state_.aloof_.erase(job.id);
    const auto of_name = named.find(job.spec->name);
    of_name->second.erase(job.id);
    if (of_name->second.empty()) named.erase(of_name);
    return;
  }
  named[job.spec->name].insert(job.id);
  if (keeps_others_off(*job.spec)) state_.aloof_.insert(job.id);
}

void Fold::index_waiting(const Job& job, bool waits, bool moved) {
  if (moved) {
    put(state_.waiting_, queue_key(job), waits);
    auto& users = state_.waiting_users_;
    const auto user = users.try_emplace(job.spec->user).first;
    user->second += waits ? 1 : -1;
    if (user->second == 0) users.erase(user);
  }
  for (auto& order : state_.orders_) {
    if (waits)
      order.index.put(job);
    else if (moved)
      order.index.drop(job.id);
  }
}

void Fold::index_name(const Job& job, bool lacks_length) {
  auto& names = state_.without_length_;
  const auto kind = kind_of(*job.spec);
  if (lacks_length) {
    names[kind].insert(job.id);
  } else if (const auto known = names.find(kind); known != names.end()) {
    known->second.erase(job.id);
    if (known->second.empty()) names.erase(known);
  }
}

void Fold::build_indexes() {
  for (const Node& node : parts_.nodes) {
    index_slots(node);
    index_drain(node);
    count_node(node, +1);
    for (const Slot& slot : node.slots) state_.slots_leased_ += slot.lease ? 1 : 0;
  }
  for (const Job& job : parts_.jobs) {
    parts_.jobs.marks(job.id) = 0;
    for (const JobId before : job.spec->after) {
      const Job* other = state_.find_job(before);
      if (!is_over(job.state) && other && !is_over(other->state))
        state_.dependants_[before].insert(job.id);
    }
    reindex(job);
  }
}

}  // namespace paceline
