#include "app/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "app/journal.hpp"
#include "app/study_files.hpp"
#include "cli/words/text_file.hpp"
#include "clock/system/system_clock.hpp"
#include "placement/placers.hpp"
#include "policy/lua/lua_policy.hpp"
#include "sim/cluster.hpp"
#include "sim/replay/replay_json.hpp"
#include "sim/study/policy_list.hpp"
#include "sim/study/study_json.hpp"
#include "sim/traces/journal_trace.hpp"
#include "sim/traces/profiles.hpp"
#include "sim/traces/read_trace.hpp"
#include "sim/truth/device_speeds.hpp"

namespace paceline {
namespace {

Result<std::string> read_script(const std::string& path) {
  return read_text_file(path, kScriptsBytesMax, "policy", "Name a file with a policy in Lua.");
}

// Words before files: what is typed wrong is told at once.
Result<void> choose_cluster(const SimulateOptions& options, sim::Setup& setup) {
  if (!options.cluster) return {};
  auto nodes = sim::parse_cluster(*options.cluster);
  if (!nodes) return fail(nodes.error());
  setup.nodes = std::move(*nodes);
  return {};
}

// Without --cluster what the trace itself ran on; then what would be different.
Result<void> complete_cluster(const SimulateOptions& options, const sim::Trace& trace,
                              sim::Setup& setup) {
  if (setup.nodes.empty()) setup.nodes = trace.nodes;
  if (setup.nodes.empty()) {
    return fail(ErrorCode::invalid, "--cluster names no cluster to simulate.",
                "Give nodes x slots, for example --cluster 64x8.");
  }
  return options.what_if ? sim::change_cluster(setup.nodes, *options.what_if) : Result<void>{};
}

constexpr std::string_view kProfiled = "profile";  // of --speedup

// Speeds come from profiles where there are some, unless another speed-up was asked for.
bool speeds_profiled(const SimulateOptions& options) {
  return options.profiles && options.speedup.value_or(std::string(kProfiled)) == kProfiled;
}

// Of the jobs that were not profiled.
Result<sim::Speedup> choose_speedup(const SimulateOptions& options) {
  if (options.speedup == kProfiled && !options.profiles) {
    return fail(ErrorCode::invalid, "--speedup profile: nothing was measured.",
                "Name measured profiles with --profiles.");
  }
  const bool named = options.speedup && *options.speedup != kProfiled;
  return sim::parse_speedup(named ? *options.speedup : "amdahl=0.05");
}

Result<sim::BatchRule> choose_batch(const SimulateOptions& options) {
  if (options.batch && !speeds_profiled(options)) {
    return fail(ErrorCode::invalid, "--batch is for jobs whose speeds are profiled.",
                "Name measured profiles with --profiles, and no other --speedup.");
  }
  return sim::parse_batch_rule(options.batch.value_or("fixed"));
}

constexpr std::size_t kThroughputsBytesMax = 64U << 20;

// A JSON file of throughputs, or profiles: a folder, or a tar of one.
Result<sim::DeviceSpeeds> read_device_speeds(const std::string& path, std::string_view reference,
                                             const std::vector<std::string>& models) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown) || path.find(".tar") != std::string::npos) {
    const auto profiles = sim::read_device_profiles(path);
    if (!profiles) return fail(profiles.error());
    return sim::DeviceSpeeds::of_profiles(*profiles, reference, models);
  }
  const auto text = read_text_file(path, kThroughputsBytesMax, "device speeds",
                                   "Give A100=1,V100=0.45, a JSON file of throughputs, or a folder "
                                   "of profiles by device.");
  if (!text) return fail(text.error());
  return sim::DeviceSpeeds::of_throughputs(*text, reference, models);
}

Result<void> choose_devices(const SimulateOptions& options, sim::Setup& setup) {
  if (!options.device_speeds) {
    if (!options.reference_device) return {};
    return fail(ErrorCode::invalid, "--reference-device is of measured device speeds.",
                "Name their file with --device-speeds.");
  }
  const std::string& typed = *options.device_speeds;
  const auto models = sim::models_of(setup.nodes);
  const bool in_words = typed.find('=') != std::string::npos;
  if (in_words && options.reference_device)
    return fail(ErrorCode::invalid, "--reference-device is of a file of measured device speeds.",
                "The device of speed 1 is what the trace's durations are of.");
  auto speeds = in_words ? sim::DeviceSpeeds::of_words(typed, models)
                         : read_device_speeds(typed, options.reference_device.value_or(""), models);
  if (!speeds) return fail(speeds.error());
  setup.devices = std::make_shared<const sim::DeviceSpeeds>(std::move(*speeds));
  return {};
}

bool has_sizes(const sim::Trace& trace) {
  return std::ranges::any_of(trace.jobs, [](const sim::TraceJob& job) {
    return job.spec && job.spec->workers.min < job.spec->workers.max;
  });
}

Result<void> choose_sizes(const SimulateOptions& options, const sim::Speedup& speedup,
                          sim::StudyPlan& plan) {
  if (options.elastic) {
    auto rule = sim::parse_elastic_rule(*options.elastic);
    if (!rule) return fail(rule.error());
    plan.workload.elastic = *rule;
  }
  if (options.elastic || has_sizes(*plan.trace)) {
    plan.setup.speedup = speedup;
  } else if (options.speedup && *options.speedup != kProfiled) {
    return fail(ErrorCode::invalid, "--speedup is for jobs whose size may change.",
                "Say how with --elastic, for example --elastic min=1,max=2x.");
  }
  return {};
}

Result<void> choose_targets(const SimulateOptions& options, sim::StudyPlan& plan) {
  if (!options.learning) {
    if (!options.reach) return {};
    return fail(ErrorCode::invalid, "--reach is for jobs that learn something.",
                "Say how with --learning, for example --learning power=0.5.");
  }
  auto learning = sim::parse_learning(*options.learning);
  if (!learning) return fail(learning.error());
  const auto reach = sim::parse_target_part(options.reach.value_or(sim::TargetPart{}.text()));
  if (!reach) return fail(reach.error());
  plan.setup.learning = std::move(*learning);
  plan.workload.reach = *reach;
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
  if (options.on_failure) {
    const auto on_failure = sim::parse_on_failure(*options.on_failure);
    if (!on_failure) return fail(on_failure.error());
    setup.on_failure = *on_failure;
  }
  setup.protects = options.protects;
  setup.failures_per_slot_hour = options.failures;
  setup.save_every = options.save_every;
  setup.reclaim_after = options.reclaim_after;
  return {};
}

sim::Costs costs_of(const SimulateOptions& options, const sim::Trace& trace) {
  const sim::Costs usual;
  return {options.restart.value_or(trace.restart_pause.value_or(usual.restart)),
          options.resize.value_or(trace.resize_pause.value_or(usual.resize))};
}

// From what was measured of its applications: durations of a trace that has none, and speeds.
Result<void> use_profiles(const SimulateOptions& options, sim::BatchRule batch, sim::Trace& trace,
                          sim::Setup& setup) {
  if (!options.profiles && !trace.has_durations) {
    return fail(ErrorCode::invalid,
                fmt::format("'{}' says what its jobs train, but not for how long.", options.trace),
                "Name measured profiles of its applications with --profiles.");
  }
  if (!options.profiles) return {};
  auto profiles = sim::read_profiles(*options.profiles);
  if (!profiles) return fail(profiles.error());
  const auto slots_per_node = static_cast<std::int32_t>(setup.nodes.front().slots.size());
  const auto set = sim::set_durations(trace, options.trace, *profiles, slots_per_node);
  if (!set || !speeds_profiled(options)) return set;
  const auto shared = std::make_shared<const sim::Profiles>(std::move(*profiles));
  setup.trainings = std::make_shared<const sim::Trainings>(
      trace, shared, sim::TrainingOptions{batch, slots_per_node, sim::slots_of(setup.nodes)});
  return {};
}

Result<sim::Trace> read_file(const SimulateOptions& options) {
  sim::TraceOptions how{options.format, options.skip_bad_lines};
  if (options.columns) {
    auto columns = sim::parse_own_columns(*options.columns);
    if (!columns) return fail(columns.error());
    how.columns = std::move(*columns);
  }
  return sim::read_trace(options.trace, how);
}

// A server's journal is read as one moment of it; everything else is a file of jobs.
Result<sim::Trace> read_jobs(const SimulateOptions& options, const sim::Speedup& speedup) {
  const auto journal = journal_at(options.trace);
  const bool fits = options.format == "auto" || options.format == sim::kJournalFormat;
  if (!journal || !fits || options.columns) return read_file(options);
  const auto store = open_journal(*journal);
  if (!store) return fail(store.error());
  const auto state = (*store)->load();
  if (!state) return fail(state.error());
  const auto forgotten = (*store)->forgotten(JobId{1}, std::numeric_limits<std::uint32_t>::max());
  if (!forgotten) return fail(forgotten.error());
  auto trace = sim::trace_of(*state, *forgotten, speedup);
  if (!trace.jobs.empty()) return trace;
  return fail(
      ErrorCode::invalid,
      fmt::format("No job of {} has run yet: there is nothing to simulate.", journal->string()),
      "Submit jobs to its server first.");
}

Result<sim::StudyPlan> plan_of(const SimulateOptions& options, const PolicyRegistry& registry) {
  sim::StudyPlan plan;
  if (auto ok = choose_setup(options, plan.setup); !ok) return fail(ok.error());
  if (auto ok = choose_targets(options, plan); !ok) return fail(ok.error());
  const auto speedup = choose_speedup(options);
  if (!speedup) return fail(speedup.error());
  const auto batch = choose_batch(options);
  if (!batch) return fail(batch.error());
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
  plan.threads = static_cast<unsigned>(options.threads);
  keep_for_study_files(options, plan);
  auto trace = read_jobs(options, *speedup);
  if (!trace) return fail(trace.error());
  plan.setup.costs = costs_of(options, *trace);
  if (auto ok = complete_cluster(options, *trace, plan.setup); !ok) return fail(ok.error());
  if (auto ok = choose_devices(options, plan.setup); !ok) return fail(ok.error());
  if (auto ok = use_profiles(options, *batch, *trace, plan.setup); !ok) return fail(ok.error());
  plan.trace = std::make_shared<const sim::Trace>(std::move(*trace));
  if (auto ok = choose_sizes(options, *speedup, plan); !ok) return fail(ok.error());
  return plan;
}

Result<std::string> replay_journal(const SimulateOptions& options, const PolicyRegistry& registry) {
  const auto journal = journal_at(options.trace);
  if (!journal) {
    return fail(ErrorCode::invalid, fmt::format("'{}' is no journal to replay.", options.trace),
                "Name the directory of a server: what its --dir or $PACELINE_DIR is.");
  }
  const auto store = open_journal(*journal);
  if (!store) return fail(store.error());
  const auto replay = sim::replay(**store, registry);
  if (!replay) return fail(replay.error());
  return sim::to_json(*replay, options.trace, options.command);
}

}  // namespace

Result<std::string> simulate(const SimulateOptions& options, const ProgressBar& bar) {
  const LuaEngine scripts;
  const PolicyRegistry registry(&scripts);
  if (options.replay) return replay_journal(options, registry);
  if (auto ok = check_study_files(options); !ok) return fail(ok.error());
  const auto plan = plan_of(options, registry);
  if (!plan) return fail(plan.error());
  SystemClock clock;
  const auto study = sim::run_study(*plan, registry, clock, bar);
  if (!study) return fail(study.error());
  const sim::StudyWords words{
      options.trace, options.cluster.value_or(sim::cluster_text(plan->trace->nodes)),
      options.what_if.value_or(""), options.elastic.value_or(""), options.command};
  if (auto ok = write_study_files(options, *study, *plan, words); !ok) return fail(ok.error());
  return sim::to_json(*study, *plan, words);
}

}  // namespace paceline
