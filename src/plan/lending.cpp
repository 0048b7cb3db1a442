#include "plan/lending.hpp"

#include <algorithm>

namespace paceline {

bool may_lend(const State& state, const Job& job) {
  if (job.spec->memory_bytes == 0 || job.state != JobState::running) return false;
  if (job.current->size() != 1 || job.forming || !job.parting.empty()) return false;
  const Seat& seat = job.current->workers.front().seat;
  const Node& node = *state.find_node(seat.node);
  if (!node.up || node.spec.memory_bytes == 0) return false;
  return std::all_of(seat.slots.begin(), seat.slots.end(), [&](std::uint32_t i) {
    return i < node.spec.slots.size() && node.slot_spec(i).kind == SlotKind::cpu &&
           !node.slots[i].lent;
  });
}

Placement frozen_seats(const Job& job) {
  Placement seats;
  for (const Worker& worker : job.current->workers) seats.push_back(worker.seat);
  return seats;
}

std::optional<std::int32_t> frozen_workers(const Job& job) {
  if (!job.lends() || !job.range.contains(job.current->size())) return std::nullopt;
  return job.current->size();
}

Time waits_for_own_until(const Job& job) {
  const Time lent_at = *job.current->lent_at;
  return lent_at + job.unsaved(lent_at) + from_seconds(job.resize_pause);
}

std::optional<JobId> beneficiary_of(const State& state, const Job& job) {
  for (const Worker& worker : job.current->workers) {
    for (const auto index : worker.seat.slots) {
      const Slot& slot = state.slot({worker.seat.node, index});
      if (slot.lease && slot.lease->worker.job != job.id) return slot.lease->worker.job;
    }
  }
  return std::nullopt;
}

}  // namespace paceline
