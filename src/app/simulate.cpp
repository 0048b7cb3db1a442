#include "app/simulate.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <thread>

#include "app/study_files.hpp"
#include "cli/text_file.hpp"
#include "clock/system/system_clock.hpp"
#include "placement/placers.hpp"
#include "policy/lua/lua_policy.hpp"
#include "sim/cluster.hpp"
#include "sim/policy_list.hpp"
#include "sim/study_json.hpp"
#include "sim/traces/profiles.hpp"
#include "sim/traces/read_trace.hpp"

namespace paceline {
namespace {

Result<std::string> read_script(const std::string& path) {
  return read_text_file(path, kScriptsBytesMax, "policy", "Name a file with a policy in Lua.");
}

Result<void> choose_cluster(const SimulateOptions& options, sim::Setup& setup) {
  if (!options.cluster) {
    return fail(ErrorCode::invalid, "--cluster names no cluster to simulate.",
                "Give nodes x slots, for example --cluster 64x8.");
  }
  auto nodes = sim::parse_cluster(*options.cluster);
  if (!nodes) return fail(nodes.error());
  setup.nodes = std::move(*nodes);
  return {};
}

Result<void> choose_sizes(const SimulateOptions& options, sim::StudyPlan& plan) {
  if (options.speedup && !options.elastic) {
    return fail(ErrorCode::invalid, "--speedup is for jobs whose size may change.",
                "Say how with --elastic, for example --elastic min=1,max=2x.");
  }
  if (!options.elastic) return {};
  auto rule = sim::parse_elastic_rule(*options.elastic);
  if (!rule) return fail(rule.error());
  plan.workload.elastic = *rule;
  auto speedup = sim::parse_speedup(options.speedup.value_or("amdahl=0.05"));
  if (!speedup) return fail(speedup.error());
  plan.setup.speedup = std::move(*speedup);
  return {};
}

Result<void> choose_setup(const SimulateOptions& options, sim::Setup& setup) {
  if (auto ok = choose_cluster(options, setup); !ok) return ok;
  setup.placement = options.placement.value_or(setup.placement);
  if (auto made = make_placer(setup.placement); !made) return fail(made.error());
  if (options.know) {
    const auto know = sim::parse_know(*options.know);
    if (!know) return fail(know.error());
    setup.know = *know;
  }
  setup.temper = options.temper;
  setup.costs = {options.restart, options.resize};
  setup.failures_per_slot_hour = options.failures;
  setup.save_every = options.save_every;
  return {};
}

// Durations of a trace that has none, from what was measured of its applications.
Result<void> complete(sim::Trace& trace, const SimulateOptions& options, const sim::Setup& setup) {
  if (trace.has_durations) return {};
  if (!options.profiles) {
    return fail(ErrorCode::invalid,
                fmt::format("'{}' says what its jobs train, but not for how long.", options.trace),
                "Name measured profiles of its applications with --profiles.");
  }
  const auto profiles = sim::read_profiles(*options.profiles);
  if (!profiles) return fail(profiles.error());
  const auto slots = setup.nodes.front().slots.size();
  return sim::set_durations(trace, *profiles, static_cast<std::int32_t>(slots));
}

Result<sim::StudyPlan> plan_of(const SimulateOptions& options, const PolicyRegistry& registry) {
  sim::StudyPlan plan;
  if (auto ok = choose_setup(options, plan.setup); !ok) return fail(ok.error());
  if (auto ok = choose_sizes(options, plan); !ok) return fail(ok.error());
  auto policies = sim::parse_policies(options.policies, registry, read_script);
  if (!policies) return fail(policies.error());
  plan.policies = std::move(*policies);
  for (std::int64_t seed = 0; seed < options.seeds; ++seed)
    plan.seeds.push_back(static_cast<std::uint64_t>(seed));
  plan.workload.load = options.load;
  plan.workload.from = options.from;
  plan.workload.until = options.until;
  plan.window = {options.warmup.value_or(Duration::zero()),
                 options.cooldown.value_or(Duration::zero())};
  plan.threads = options.threads > 0 ? static_cast<unsigned>(options.threads)
                                     : std::thread::hardware_concurrency();
  keep_for_study_files(options, plan);
  auto trace = sim::read_trace(options.trace, {options.format, options.skip_bad_lines});
  if (!trace) return fail(trace.error());
  if (auto ok = complete(*trace, options, plan.setup); !ok) return fail(ok.error());
  plan.trace = std::make_shared<const sim::Trace>(std::move(*trace));
  return plan;
}

}  // namespace

Result<std::string> simulate(const SimulateOptions& options, const ProgressBar& bar) {
  spdlog::set_level(spdlog::level::err);
  const LuaEngine scripts;
  const PolicyRegistry registry(&scripts);
  if (auto ok = check_study_files(options); !ok) return fail(ok.error());
  const auto plan = plan_of(options, registry);
  if (!plan) return fail(plan.error());
  SystemClock clock;
  const auto study = sim::run_study(*plan, registry, clock, bar);
  if (!study) return fail(study.error());
  const sim::StudyWords words{options.trace, *options.cluster, options.elastic.value_or(""),
                              options.command};
  if (auto ok = write_study_files(options, *study, *plan, words); !ok) return fail(ok.error());
  return sim::to_json(*study, *plan, words);
}

}  // namespace paceline
