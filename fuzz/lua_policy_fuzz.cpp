// Somebody's script: whatever it does, it ends, and what it decides is a plan without violations.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.hpp"
#include "placement/pack.hpp"
#include "plan/apply.hpp"
#include "plan/check.hpp"
#include "policy/lua/lua_policy.hpp"

using namespace paceline;

namespace {

const SandboxLimits kLimits{.instructions = 100'000, .memory_bytes = 4U << 20};

// Two slots run a job, two are free; two jobs wait.
State small_world() {
  State state;
  const auto fold = [&](std::variant<Event, Plan> body) {
    apply(state, {state.seq() + 1, time_from_us(1'000'000), std::move(body)});
  };
  NodeSpec node;
  node.name = "node";
  node.slots.resize(4);
  fold(NodeUp{NodeId{0}, node});
  fold(PolicySet{"fifo", {}});
  JobSpec spec;
  spec.workers = {1, 4, 2};
  spec.elastic = Elastic::restart;
  for (std::uint32_t id = 1; id <= 3; ++id) fold(JobSubmitted{JobId{id}, spec});
  Plan plan;
  plan.round = 1;
  plan.changes.push_back({ChangeKind::start,
                          JobId{1},
                          Generation{1},
                          {{NodeId{0}, {0}}, {NodeId{0}, {1}}},
                          {},
                          1,
                          {}});
  fold(std::move(plan));
  fold(WorkerStarted{{JobId{1}, Generation{1}, 0}, 1});
  fold(WorkerStarted{{JobId{1}, Generation{1}, 1}, 1});
  return state;
}

void decide(const std::string& text) {
  const auto policy = LuaPolicy::make("fuzz", text, {}, kLimits);
  if (!policy) return check(!policy.error().message.empty(), "an error says what is wrong");
  const State state = small_world();
  const Snapshot snapshot{state, time_from_us(100'000'000)};
  const PackPlacer placer;
  Draft draft(snapshot, placer);
  const auto decided = (*policy)->try_decide(snapshot, draft);
  if (decided) return check(violations(snapshot, draft.plan()).empty(), "its plan is legal");
  check(!decided.error().message.empty(), "an error says what is wrong");
  check(draft.plan().changes.empty(), "a script that fails changes nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  decide(text);
  decide("function decide(cluster)\n" + text + "\nend");
  return 0;
}
