#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "cli/client/watch.hpp"
#include "cli/commands/command.hpp"
#include "cli/words/expected_text.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/units.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

struct Queue {
  OutputOptions output;
  std::optional<std::string> state, name, since, last;
  bool all = false;
  bool mine = false;
};

Result<std::string> query_of(const Queue& typed) {
  std::string state = typed.state.value_or("");
  std::ranges::transform(state, state.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (typed.state && !parse_job_state(state)) {
    return fail(
        ErrorCode::invalid, fmt::format("--state: '{}' is not a state.", *typed.state),
        "States are PENDING, STARTING, RUNNING, RESIZING, PAUSED, STOPPING, COMPLETED, FAILED, "
        "CANCELLED and TIMEOUT.");
  }
  if (typed.state) return "all=1&state=" + state;
  return typed.all || typed.since || typed.last ? "all=1" : "";
}

Result<JobsWanted> wanted_of(Context& context, const Queue& typed) {
  constexpr std::int64_t kLastMax = 1'000'000;
  JobsWanted wanted;
  if (typed.mine) {
    const auto uid = context.own_uid();
    if (!uid) return fail(uid.error());
    wanted.uid = *uid;
  }
  wanted.name = typed.name;
  if (typed.since) {
    auto since = parse_since(*typed.since, Context::now());
    if (!since)
      return fail(since.error().code, "--since: " + since.error().message, since.error().hint);
    wanted.since = to_seconds(*since);
  }
  if (typed.last) {
    const auto last = parse_whole(*typed.last, {1, kLastMax});
    if (!last) return fail(ErrorCode::invalid, "--last: " + last.error().message);
    wanted.last = static_cast<std::size_t>(*last);
  }
  return wanted;
}

std::string ids_of(const Document& jobs) {
  std::string text;
  for (const auto& job : list_of(jobs, "jobs")) text += fmt::format("{}\n", whole_of(job, "id"));
  return text;
}

struct Question {
  std::string query;  // what the API is asked
  JobsWanted wanted;  // what is shown of its answer
};

Result<Question> question_of(Context& context, const Queue& typed) {
  auto query = query_of(typed);
  if (!query) return fail(std::move(query.error()));
  auto wanted = wanted_of(context, typed);
  if (!wanted) return fail(std::move(wanted.error()));
  return Question{std::move(*query), std::move(*wanted)};
}

Result<std::string> draw(Context& context, const Question& question, const Output& output) {
  const auto api = context.api();
  if (!api) return fail(api.error());
  auto jobs = (*api)->jobs(question.query, question.wanted);
  if (!jobs) return fail(std::move(jobs.error()));
  if (output.format == Format::name) return ids_of(*jobs);
  if (const auto expected = (*api)->expected())
    join_expected(*jobs, *expected);
  else if (expected.error().code != ErrorCode::not_found)
    return fail(expected.error());
  if (output.format == Format::json) return json_text(*jobs, context.console);
  const auto& list = list_of(*jobs, "jobs");
  if (list.empty() && context.console.output_terminal()) {
    return question.query.empty() ? "No job waits or runs.\n" : "There is no such job.\n";
  }
  return jobs_table(list, output, context.console, to_seconds(Context::now()));
}

}  // namespace

Command queue_command() {
  return {"queue",
          "ps",
          "Jobs",
          "List the jobs that wait or run",
          "paceline queue\npaceline queue --last 20 --name 'train*'\npaceline queue --all -o json\n"
          "paceline ps -w",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Queue>();
            options.flag("-a,--all", typed->all, "ended jobs too");
            options.flag("--me", typed->mine, "only mine");
            options.value("--name", "PATTERN", typed->name, "only those of this name: 'train*'");
            options.value("--last", "N", typed->last, "the newest so many, ended ones too");
            options.value("--since", "SPAN|TIME", typed->since,
                          "those not over before, ended ones too: 1d, 2025-11-20");
            options.value("--state", "STATE", typed->state, "only those in this state");
            options.output(typed->output, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return show(context.console, *output, [&]() -> Result<std::string> {
                const auto question = question_of(context, *typed);
                if (!question) return fail(question.error());
                return draw(context, *question, *output);
              });
            };
          }};
}

}  // namespace paceline
