#include "sim/study/occupancy.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "sim/cluster.hpp"

namespace paceline::sim {
namespace {

constexpr Duration kFirstBin = std::chrono::milliseconds{1};
constexpr double kHoldsPerSlot = 12;

std::vector<SlotId> first_slots(const std::vector<NodeSpec>& nodes) {
  std::vector<SlotId> slots;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    const std::size_t count = nodes[node].slots.size();
    if (!slots.empty() && slots.size() + count > kSlotsViewed) break;
    for (std::uint32_t i = 0; i < std::min(count, kSlotsViewed); ++i)
      slots.push_back({NodeId{node}, i});
  }
  return slots;
}

// What a workload asks of a cluster, taken as one machine that does any work with all its slots.
struct Demand {
  double work = 0, slots = 0;  // slot-seconds, and slots of all jobs
  Time peak;                   // when most of the work waits
};

Demand demand_of(const Workload& workload, double cluster_slots) {
  Demand demand;
  Time before = workload.arrivals.front().at;
  demand.peak = before;
  double left = 0, most = 0;
  for (const Arrival& arrival : workload.arrivals) {
    const double wanted = workload.trace->jobs[arrival.job].slots;
    const double work = to_seconds(arrival.length) * wanted;
    left = std::max(0.0, left - to_seconds(arrival.at - before) * cluster_slots) + work;
    before = arrival.at;
    if (left > most) {
      most = left;
      demand.peak = before;
    }
    demand.work += work;
    demand.slots += wanted;
  }
  return demand;
}

}  // namespace

OccupancyView view_of(const Workload& workload, const std::vector<NodeSpec>& nodes) {
  OccupancyView view{{}, Time::max(), first_slots(nodes)};
  if (workload.arrivals.empty()) return view;
  const auto slots = static_cast<double>(slots_of(nodes));
  const Demand demand = demand_of(workload, slots);
  const Time first = workload.arrivals.front().at, last = workload.arrivals.back().at;
  const Duration span = from_seconds(kHoldsPerSlot * demand.work / demand.slots);
  view.from = first;
  if (span >= last - first + from_seconds(demand.work / slots)) return view;
  view.from = std::max(first, demand.peak - span / 4);
  view.until = view.from + span;
  return view;
}

std::vector<double> leased_in_bins_of(Duration bin, const Occupancy& occupancy) {
  check(bin.count() % occupancy.bin.count() == 0, "bins are joined whole");
  const auto joined = static_cast<std::size_t>(bin / occupancy.bin);
  std::vector<double> leased((occupancy.leased.size() + joined - 1) / joined);
  for (std::size_t i = 0; i < occupancy.leased.size(); ++i)
    leased[i / joined] += occupancy.leased[i];
  return leased;
}

OccupancyRecorder::OccupancyRecorder(OccupancyView view, Time begin) {
  occupants_.resize(view.slots.size());
  kept_.view = std::move(view);
  kept_.begin = kept_.end = begin;
  kept_.bin = kFirstBin;
}

void OccupancyRecorder::stayed(const State& state, Time until) {
  if (until <= kept_.end) return;
  widen_bins(until);
  add_leased(state.slots_leased(), until);
  keep_stays(state, until);
  kept_.end = until;
}

void OccupancyRecorder::widen_bins(Time until) {
  Duration bin = kept_.bin;
  while (until - kept_.begin > bin * kBinsMax) bin *= 2;
  if (bin == kept_.bin) return;
  kept_.leased = leased_in_bins_of(bin, kept_);
  kept_.bin = bin;
}

void OccupancyRecorder::add_leased(std::int64_t slots, Time until) {
  for (Time at = kept_.end; at < until;) {
    const std::int64_t number = (at - kept_.begin) / kept_.bin;
    const Time next = std::min(until, kept_.begin + kept_.bin * (number + 1));
    const auto bin = static_cast<std::size_t>(number);
    if (bin >= kept_.leased.size()) kept_.leased.resize(bin + 1);
    kept_.leased[bin] += to_seconds(next - at) * static_cast<double>(slots);
    at = next;
  }
}

void OccupancyRecorder::keep_stays(const State& state, Time until) {
  auto& view = kept_.view;
  const Time since = std::max(kept_.end, view.from);
  if (until <= view.from || since >= view.until) return;
  if (kept_.stays.size() + 2 * occupants_.size() > kStaysMax) view.until = since;
  for (std::size_t i = 0; i < occupants_.size(); ++i) {
    const auto& lease = state.slot(view.slots[i]).lease;
    auto& occupant = occupants_[i];
    if (occupant && !(lease && lease->worker.job == occupant->job)) close(i, since);
    if (lease && !occupant) occupant = Occupant{lease->worker.job, since};
    if (until >= view.until) close(i, view.until);
  }
}

void OccupancyRecorder::close(std::size_t slot, Time at) {
  const auto occupant = std::exchange(occupants_[slot], std::nullopt);
  if (!occupant || occupant->since >= at) return;
  kept_.stays.push_back({static_cast<std::uint32_t>(slot), 0, occupant->since, at});
  jobs_.push_back(occupant->job);
}

Occupancy OccupancyRecorder::take(const std::function<std::uint32_t(JobId)>& trace_job) {
  kept_.view.until = std::min(kept_.view.until, std::max(kept_.end, kept_.view.from));
  for (std::size_t i = 0; i < occupants_.size(); ++i) close(i, kept_.view.until);
  for (std::size_t i = 0; i < jobs_.size(); ++i) kept_.stays[i].job = trace_job(jobs_[i]);
  return std::move(kept_);
}

}  // namespace paceline::sim
