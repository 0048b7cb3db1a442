#include <string>

#include "agent/linux/supervisor.hpp"
#include "app/agent.hpp"
#include "app/backup.hpp"
#include "app/build.hpp"
#include "app/faults.hpp"
#include "app/journal_tools.hpp"
#include "app/log.hpp"
#include "app/simulate.hpp"
#include "app/up.hpp"
#include "cli/cli.hpp"
#include "model/launch.hpp"

namespace {

#define PACELINE_TEXT_OF(x) #x
#define PACELINE_TEXT(x) PACELINE_TEXT_OF(x)

paceline::Build this_build() {
#ifdef __clang__
  const std::string compiler =
      "clang " PACELINE_TEXT(__clang_major__) "." PACELINE_TEXT(__clang_minor__);
#else
  const std::string compiler = "gcc " PACELINE_TEXT(__GNUC__) "." PACELINE_TEXT(__GNUC_MINOR__);
#endif
  const std::string commit = PACELINE_COMMIT;
  const std::string version = PACELINE_VERSION;
  return {version, version + " (" + commit + (commit.empty() ? "" : ", ") + compiler + ")"};
}

}  // namespace

int main(int argc, char** argv) {
  paceline::log_to_stderr("err");
  const paceline::Build build = this_build();
  paceline::Hooks hooks;
  hooks.version = build.text;
  hooks.up = [&](const paceline::UpOptions& options) { return paceline::up(options, build); };
  hooks.agent = [&](const paceline::AgentOptions& options) {
    return paceline::run_agent(options, build);
  };
  const auto command = [&] {
    paceline::LaunchSpec typed;
    typed.command.assign(argv, argv + argc);
    return paceline::command_line(typed);
  };
  hooks.simulate = [&](paceline::SimulateOptions options, const paceline::ProgressBar& bar) {
    options.command = command();
    return paceline::simulate(options, bar);
  };
  hooks.simulate_faults = [&](paceline::FaultsOptions options, const paceline::ProgressBar& bar) {
    options.command = command();
    return paceline::simulate_faults(options, bar);
  };
  hooks.journal = paceline::journal_hooks();
  hooks.backup = paceline::make_backup;
  hooks.supervise = [](int count, char** arguments) {
    return paceline::agent::supervise_main(count, arguments);
  };
  return paceline::cli_main(argc, argv, hooks);
}
