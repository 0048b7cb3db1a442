#include "model/state.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace paceline {
namespace {

// The index by that order, built over those jobs if there is none yet.
template <class Indexes>
auto& index_by(Indexes& kept, const Order& order, const State& state,
               const std::set<QueueKey>& jobs) {
  for (auto& known : kept) {
    if (known.index.order() != order) continue;
    known.asked = true;
    return known.index;
  }
  auto& made = kept.emplace_back(order).index;
  for (const auto& key : jobs) made.put(state.job(key.job));
  return made;
}

}  // namespace

const SlotSpec& Node::slot_spec(std::uint32_t index) const {
  static const SlotSpec kGone{SlotKind::cpu, "", "", 0, false, "the node has it no longer"};
  return index < spec.slots.size() ? spec.slots[index] : kGone;
}

std::uint64_t& ForgottenSums::of(JobState state) {
  check(is_over(state), "only what is over is forgotten");
  if (state == JobState::completed) return completed;
  if (state == JobState::failed) return failed;
  return state == JobState::timeout ? timeout : cancelled;
}

QueueKey queue_key(const Job& job) { return {-job.spec->priority, job.submitted_at, job.id}; }

const Node* State::find_node(NodeId id) const {
  return id.value < parts_.nodes.size() ? &parts_.nodes[id.value] : nullptr;
}

const Node* State::find_node(std::string_view name) const {
  const auto& nodes = parts_.nodes;
  const auto it =
      std::find_if(nodes.begin(), nodes.end(), [&](const Node& n) { return n.spec.name == name; });
  return it == nodes.end() ? nullptr : &*it;
}

const Job& State::job(JobId id) const {
  const Job* found = find_job(id);
  check(found != nullptr, "the job exists");
  return *found;
}

JobId State::next_job_id() const { return JobId{parts_.jobs.given() + 1}; }

std::vector<JobId> State::active_named(std::string_view pattern) const {
  std::vector<JobId> found;
  const auto beginning = pattern.substr(0, pattern.size() - (pattern.ends_with('*') ? 1 : 0));
  auto at = active_by_name_.lower_bound(beginning);
  for (; at != active_by_name_.end() && at->first.starts_with(beginning); ++at) {
    if (name_matches(pattern, at->first))
      found.insert(found.end(), at->second.begin(), at->second.end());
  }
  return found;
}

std::vector<JobId> State::dependants(JobId id) const {
  const auto it = dependants_.find(id);
  if (it == dependants_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

const WaitingOrder& State::waiting_by(const Order& order) const {
  return index_by(orders_, order, *this, waiting_);
}

const RunningTable& State::running_by(const Order& order) const {
  return index_by(tables_, order, *this, active_);
}

const PolicyPeriod* State::policy() const {
  return parts_.periods.empty() ? nullptr : &parts_.periods.back();
}

Time State::drain_begins(const Node& node) const {
  check(node.drain.has_value(), "the node drains, or is to");
  const Drain& drain = *node.drain;
  if (drain.begun_at) return *drain.begun_at;
  return drain.order.from ? on_time_line(*drain.order.from) : Time{};
}

std::optional<Time> State::drain_ends(const Node& node) const {
  const Time begins = drain_begins(node);
  const DrainOrder& order = node.drain->order;
  if (order.until) return std::max(begins, on_time_line(*order.until));
  return order.within ? std::optional(begins + *order.within) : std::nullopt;
}

const Slot& State::slot(SlotId id) const {
  const Node* node = find_node(id.node);
  check(node != nullptr && id.index < node->slots.size(), "the slot exists");
  return node->slots[id.index];
}

bool State::has_seat(const ProcessKey& worker, const Seat& seat) const {
  return std::ranges::all_of(seat.slots, [&](std::uint32_t index) {
    const auto& lease = slot({seat.node, index}).lease;
    return lease && lease->worker == worker;
  });
}

std::int64_t State::workers_ever(std::int32_t slots_per_worker) const {
  std::int64_t workers = 0;
  for (const auto& [slots, nodes] : sizes_ever_) workers += nodes * (slots / slots_per_worker);
  return workers;
}

PolicyPeriod State::active_period(Time now) const {
  check(!parts_.periods.empty(), "a policy is set");
  PolicyPeriod period = parts_.periods.back();
  add_use(period, now);
  return period;
}

void State::add_use(PolicyPeriod& period, Time until) const {
  const double seconds = to_seconds(std::max(Duration::zero(), until - parts_.at));
  period.slot_seconds_leased += seconds * static_cast<double>(slots_leased_);
  period.slot_seconds_available += seconds * static_cast<double>(slots_available_);
}

}  // namespace paceline
