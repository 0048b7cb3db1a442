#include <fmt/format.h>
#include <unistd.h>

#include "cli/client/watch.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/expected_text.hpp"
#include "cli/words/job_view.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

struct Queue {
  OutputOptions output;
  std::optional<std::string> state;
  bool all = false;
  bool mine = false;
};

Result<std::string> query_of(const Queue& typed) {
  if (typed.state && !parse_job_state(*typed.state)) {
    return fail(
        ErrorCode::invalid, fmt::format("--state: '{}' is not a state.", *typed.state),
        "States are PENDING, STARTING, RUNNING, RESIZING, PAUSED, STOPPING, COMPLETED, FAILED, "
        "CANCELLED and TIMEOUT.");
  }
  if (typed.state) return fmt::format("all=1&state={}", *typed.state);
  return typed.all ? "all=1" : "";
}

void keep_mine(Document& jobs) {
  const auto uid = static_cast<std::int64_t>(::getuid());
  Document mine = Document::array();
  for (auto& job : jobs["jobs"]) {
    if (whole_of(job, "uid") == uid) mine.push_back(std::move(job));
  }
  jobs["jobs"] = std::move(mine);
}

std::string ids_of(const Document& jobs) {
  std::string text;
  for (const auto& job : list_of(jobs, "jobs")) text += fmt::format("{}\n", whole_of(job, "id"));
  return text;
}

Result<std::string> draw(Context& context, const Queue& typed, const std::string& query,
                         const Output& output) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  auto jobs = (*api)->jobs(query);
  if (!jobs) return fail(std::move(jobs.error()));
  if (typed.mine) keep_mine(*jobs);
  if (output.format == Format::name) return ids_of(*jobs);
  if (const auto expected = (*api)->expected())
    join_expected(*jobs, *expected);
  else if (expected.error().code != ErrorCode::not_found)
    return fail(expected.error());
  if (output.format == Format::json) return json_text(*jobs, context.console);
  const auto& list = list_of(*jobs, "jobs");
  if (list.empty() && context.console.output_terminal()) return "No job waits or runs.\n";
  return jobs_table(list, output, context.console, to_seconds(Context::now()));
}

}  // namespace

Command queue_command() {
  return {"queue",
          "ps",
          "Jobs",
          "List the jobs that wait or run",
          "paceline queue\npaceline queue --all -o json\npaceline ps -w",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Queue>();
            options.flag("-a,--all", typed->all, "ended jobs too");
            options.flag("--me", typed->mine, "only mine");
            options.value("--state", "STATE", typed->state, "only those in this state");
            options.output(typed->output, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              const auto query = query_of(*typed);
              if (!query) return fail(query.error());
              return show(context.console, *output,
                          [&] { return draw(context, *typed, *query, *output); });
            };
          }};
}

}  // namespace paceline
