#include <fmt/format.h>

#include "cli/commands/job_options.hpp"
#include "cli/words/expected_text.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

std::string job_words(const Document& job) {
  return fmt::format("Job {} '{}' of {}", whole_of(job, "id"), printable(text_of(job, "name")),
                     printable(text_of(job, "user")));
}

std::string effect_line(const Document& effect) {
  const auto what = text_of(effect, "what");
  return fmt::format("  {} {} for it.\n", job_words(effect),
                     what == "asks" ? "is asked for its slots" : what);
}

std::string delayed_line(const Document& delayed) {
  return fmt::format("  {} would {} {} later.\n", job_words(delayed), text_of(delayed, "what"),
                     human_duration(number_of(delayed, "later_seconds").value_or(0)));
}

// Where it would stand in line, and behind which jobs.
std::string line_lines(const Document& ahead) {
  const auto position = whole_of(ahead, "position");
  if (position <= 0) return {};
  auto text = fmt::format("  It would be number {} in line.\n", position);
  const auto& jobs = list_of(ahead, "jobs_ahead");
  for (const auto& job : jobs)
    text += fmt::format("  Ahead: job {} '{}' (priority {}) {}.\n", whole_of(job, "id"),
                        printable(text_of(job, "name")), whole_of(job, "priority"),
                        printable(text_of(job, "reason")));
  const auto more = position - 1 - static_cast<std::int64_t>(jobs.size());
  if (more > 0) text += fmt::format("  … and {} more ahead.\n", more);
  return text;
}

std::string ahead_page(const Document& ahead, double now) {
  std::string text;
  for (const auto& line : expected_lines(ahead, now, "would"))
    text += fmt::format("{}{}\n", text.empty() ? "" : "  ", line);
  if (text.empty()) text = "Nothing that is known would let it start.\n";
  if (const auto reason = text_of(ahead, "reason"); !reason.empty())
    text += fmt::format("  As things are it {}.\n", printable(reason));
  for (const auto& change : change_lines(ahead, now))
    text += fmt::format("  {}\n", printable(change));
  text += line_lines(ahead);
  for (const auto& effect : list_of(ahead, "effects")) text += effect_line(effect);
  for (const auto& delayed : list_of(ahead, "delayed")) text += delayed_line(delayed);
  if (const auto others = whole_of(ahead, "other_delayed"); others > 0)
    text += fmt::format("  … and {} more.\n", plural(static_cast<std::uint64_t>(others), "job"));
  if (list_of(ahead, "delayed").empty() && list_of(ahead, "effects").empty())
    text += "  No other job would be later for it.\n";
  return text;
}

}  // namespace

Command plan_command() {
  return {"plan",
          "",
          "Jobs",
          "Say when a job would start and end, and whom it would delay; submits nothing",
          "paceline plan --slots 4 --expect 2h -- python3 train.py\n"
          "paceline plan -f job.yaml",
          [](Options& options) -> Action {
            struct Plan {
              JobOptions job;
              OutputOptions output;
            };
            const auto typed = std::make_shared<Plan>();
            declare_job_options(options, typed->job);
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return with_submission(
                  context, typed->job, [&](const MadeSubmission& made) -> Result<int> {
                    const auto api = context.api();
                    if (!api) return fail(api.error());
                    const auto ahead = (*api)->post("/v1/plan", submission_body(made.body));
                    if (!ahead) return fail(ahead.error());
                    context.console.print(output->format == Format::json
                                              ? json_text(*ahead, context.console)
                                              : ahead_page(*ahead, to_seconds(Context::now())));
                    return 0;
                  });
            };
          }};
}

}  // namespace paceline
