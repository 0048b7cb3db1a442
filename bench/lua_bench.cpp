// Decisions of scripts over many jobs: time, and instructions of Lua's machine, which compare across
// machines.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "placement/pack.hpp"
#include "plan/apply.hpp"
#include "policy/lua/lua_policy.hpp"

namespace {

using namespace paceline;

// `jobs` jobs of 50 users that wait, half as many that run, one slot each.
class Crowd {
 public:
  explicit Crowd(std::uint32_t jobs) {
    NodeSpec node;
    node.slots.resize(8);
    for (std::uint32_t i = 0; i * 8 < jobs; ++i) {
      node.name = fmt::format("node-{}", i);
      fold(NodeUp{NodeId{i}, node});
    }
    fold(PolicySet{"fifo", {}});
    for (std::uint32_t i = 1; i <= jobs; ++i) {
      JobSpec spec;
      spec.name = fmt::format("job-{}", i);
      spec.user = fmt::format("user-{}", i * 7 % 50);
      spec.workers = {1, 4, 1};
      spec.priority = static_cast<std::int32_t>(i * 13 % 101);
      spec.expected_duration = std::chrono::seconds{i * 31 % 9973};
      spec.elastic = Elastic::restart;
      fold(JobSubmitted{JobId{i}, spec});
    }
    run(jobs / 2);
  }

  [[nodiscard]] Snapshot snapshot() const {
    return {state_, time_from_us(2'000'000'000) + std::chrono::hours{1}};
  }

 private:
  void fold(std::variant<Event, Plan> body) {
    apply(state_, {state_.seq() + 1, time_from_us(2'000'000'000), std::move(body)});
  }

  void run(std::uint32_t jobs) {
    Plan plan;
    {
      Draft draft(snapshot(), placer_);
      for (std::uint32_t i = 1; i <= jobs; ++i)
        draft.start(JobId{i}, *draft.fit(JobId{i}, 1), {ReasonCode::starts, {1}, {}});
      plan = draft.plan();
    }
    fold(std::move(plan));
    for (std::uint32_t i = 1; i <= jobs; ++i) fold(WorkerStarted{{JobId{i}, Generation{1}, 0}, 1});
  }

  State state_;
  PackPlacer placer_;
};

std::string example(const std::string& name) {
  std::ifstream file("examples/policies/" + name + ".lua");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void lua_decide(benchmark::State& bench, const char* name) {
  const auto policy = LuaPolicy::make(name, example(name), {}, {});
  const Crowd crowd(static_cast<std::uint32_t>(bench.range(0)));
  const PackPlacer placer;
  const Snapshot snapshot = crowd.snapshot();
  for (auto _ : bench) {
    Draft draft(snapshot, placer);
    const auto decided = (*policy)->try_decide(snapshot, draft);
    if (!decided) return bench.SkipWithError(decided.error().message.c_str());
  }
  Draft draft(snapshot, placer);
  bench.counters["instructions"] = static_cast<double>(*(*policy)->cost(snapshot, draft));
}

BENCHMARK_CAPTURE(lua_decide, shortest_first, "shortest-first")
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_decide, users_in_turn, "users-in-turn")
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_decide, aging, "aging")->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_decide, least_attained, "least-attained")
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_decide, even_share, "even-share")->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(lua_decide, deadline_first, "deadline-first")
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
