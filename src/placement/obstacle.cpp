#include "placement/obstacle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "placement/stock.hpp"
#include "plan/lending.hpp"

namespace paceline {
namespace {

// Free slots that are forbidden to the job, by what forbids them.
std::map<std::string, std::int64_t> forbidden_slots(const Draft& draft,
                                                    const Constraints& constraints) {
  std::map<std::string, std::int64_t> forbidden;
  for (const Node& node : draft.snapshot().state.nodes()) {
    const auto free = draft.free().free_on(node.id);
    if (free == 0) continue;
    if (const auto broken = constraints.broken_on(node.id)) forbidden[*broken] += free;
  }
  return forbidden;
}

// What the gang asks of the nodes that are allowed.
std::string wish_of_the_gang(const Job& job) {
  for (const Affinity& affinity : job.spec->affinity) {
    if (affinity.to == AffinityTo::self) return wish(affinity);
  }
  if (!job.spec->devices.empty()) return "needs devices of one model";
  const auto tensor = job.spec->mesh.tensor;
  return tensor > 1 ? fmt::format("needs its tensor groups of {} on one node each", tensor) : "";
}

}  // namespace

Reason lacks_slots(const Draft& draft, const Job& job, std::int32_t workers) {
  if (frozen_workers(job)) {
    if (const auto has = beneficiary_of(draft.snapshot().state, job))
      return {ReasonCode::waits_for_own, {has->value, to_us(waits_for_own_until(job))}, {}};
  }
  const std::int64_t need = job.slots(workers);
  const auto free = static_cast<std::int64_t>(draft.free().total());
  if (need > free) return {ReasonCode::waits_for_slots, {need, free}, {}};
  const Time now = draft.snapshot().now;
  const Constraints constraints(draft.standing(), job, now, GivenUp{may_give_up(job, now)});
  const auto forbidden = forbidden_slots(draft, constraints);
  std::int64_t elsewhere = 0;
  for (const auto& [wish, slots] : forbidden) elsewhere += slots;
  if (free - elsewhere >= need)
    return {ReasonCode::waits_for_fit, {need, free}, wish_of_the_gang(job)};
  const auto worst =
      std::max_element(forbidden.begin(), forbidden.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return {ReasonCode::waits_for_place, {need, worst->second}, worst->first};
}

}  // namespace paceline
