#include "app/faults.hpp"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <string_view>

#include "clock/system/system_clock.hpp"
#include "engine/agents/agents_engine.hpp"
#include "faults/fault_json.hpp"
#include "faults/fault_scripts.hpp"
#include "policy/lua/lua_policy.hpp"
#include "store/memory/memory_store.hpp"

namespace paceline {
namespace {

faults::EngineUnderTest make_engine(Clock& clock, faults::EngineSources sources,
                                    const faults::EngineBounds& bounds) {
  AgentsEngine::Options options;
  options.news_max = bounds.news_max;
  options.newest_report = std::move(sources.newest_report);
  auto engine = std::make_unique<AgentsEngine>(clock, std::move(sources.launches), options);
  AgentsEngine& agents = *engine;
  return {
      std::move(engine), &agents,
      [&agents](std::string_view node, std::string_view by) { return agents.count_off(node, by); },
      [&agents](std::string_view node, const KeptCheckpoint& kept) {
        return agents.take_kept(node, kept);
      }};
}

void write_error(std::string_view text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Of the thread that aborts. Nothing here allocates.
void name_seed(int) {
  const auto seed = faults::running_fault_seed();
  if (!seed) return;
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), *seed).ptr;
  write_error("paceline: again with: paceline simulate --faults ");
  write_error({digits, static_cast<std::size_t>(end - digits)});
  write_error(" --story\n");
}

}  // namespace

const faults::FaultKit& fault_kit() {
  // Those that never end are to end soon.
  static const LuaEngine scripts(SandboxLimits{200'000, 16U << 20, 4096});
  static const PolicyRegistry policies(&scripts);
  static const faults::FaultKit kit{
      [] { return std::make_unique<MemoryStore>(); }, make_engine,
      [](ClockSources sources) { return std::make_unique<SystemClock>(std::move(sources)); },
      policies, faults::fault_scripts()};
  return kit;
}

Result<std::string> simulate_faults(const FaultsOptions& options, const ProgressBar& bar) {
  std::signal(SIGABRT, name_seed);
  const faults::FaultStudyPlan plan{options.first, options.last,
                                    static_cast<unsigned>(options.threads), options.story};
  SystemClock clock;
  const Time began = clock.now();
  const auto study = faults::run_faults(plan, fault_kit(), bar);
  return faults::to_json(study, plan, {to_seconds(clock.now() - began), options.command});
}

}  // namespace paceline
