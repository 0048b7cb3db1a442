#include "policy/round_robin.hpp"

#include <charconv>

#include "placement/gang.hpp"
#include "policy/pages.hpp"
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

// Could the job wait for a node that holds it whole?
bool fits_a_node(const State& state, const Job& job, std::uint32_t slots) {
  const JobSpec& spec = *job.spec;
  const bool anywhere =
      spec.affinity.empty() && spec.devices.empty() && spec.cpus <= 0 && spec.memory_bytes == 0;
  return anywhere && slots <= state.largest_node_up();
}

std::optional<Placement> seats_in_turn(const State& state, Draft& draft, const Job& job,
                                       std::int32_t workers) {
  if (job.lends()) return draft.fit(job.id, workers);
  const auto slots = static_cast<std::uint32_t>(job.slots(workers));
  for (const NodeId first : {turn(draft), NodeId{0}}) {
    for (auto node = draft.free().next_from(first, slots); node;
         node = draft.free().next_from(NodeId{node->value + 1}, slots)) {
      auto seats = fit_on(draft, job, workers, *node);
      if (!seats) continue;
      draft.remember(kNext, std::to_string(node->value + 1));
      return seats;
    }
  }
  return fits_a_node(state, job, slots) ? std::nullopt : draft.fit(job.id, workers);
}

}  // namespace

PolicyInfo RoundRobin::info() {
  return {.name = "round-robin",
          .summary = "Nodes take turns; full ones are skipped.",
          .text = policy_page("round-robin"),
          .make = make_plain<RoundRobin>};
}

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
