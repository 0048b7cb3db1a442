#include "policy/round_robin.hpp"

#include <charconv>

#include "placement/pack.hpp"
#include "policy/waiting.hpp"

namespace paceline {
namespace {

constexpr const char* kNext = "round-robin.next";

NodeId turn(const Draft& draft) {
  const std::string text = draft.memo(kNext);
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return NodeId{value};
}

std::optional<Placement> seats_in_turn(const State& state, Draft& draft, const Job& job,
                                       std::int32_t workers) {
  const auto slots = static_cast<std::uint32_t>(job.slots(workers));
  const NodeId from = turn(draft);
  auto node = draft.free().next_from(from, slots);
  if (!node) node = draft.free().next_from(NodeId{0}, slots);
  if (!node) {
    if (slots <= state.largest_node_up()) return std::nullopt;
    return draft.fit(job.id, workers);
  }
  draft.remember(kNext, std::to_string(node->value + 1));
  return seats_on(draft.free(), *node, workers, job.spec->slots_per_worker);
}

}  // namespace

void RoundRobin::decide(const Snapshot& snapshot, Draft& draft) const {
  start_in_order(snapshot, draft, [&](const Job& job) {
    const std::int32_t workers = wanted(snapshot.state, job);
    auto seats = seats_in_turn(snapshot.state, draft, job, workers);
    if (!seats) return false;
    draft.start(job.id, std::move(*seats), {ReasonCode::starts, {workers}, {}});
    return true;
  });
}

}  // namespace paceline
