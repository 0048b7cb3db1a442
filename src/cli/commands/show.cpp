#include <fmt/format.h>

#include "cli/client/failing_rank.hpp"
#include "cli/client/job_curve.hpp"
#include "cli/client/watch.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

struct Show {
  OutputOptions output;
  std::vector<std::string> ids;
};

Result<std::string> drawn(Api& api, const Document& job, const Output& output,
                          const Console& console) {
  switch (output.format) {
    case Format::json:
      return json_text(job, console);
    case Format::name:
      return fmt::format("{}\n", whole_of(job, "id"));
    case Format::table:
    case Format::wide:
      break;
  }
  const auto curve = read_curve(api, job);
  if (!curve) return fail(curve.error());
  const auto failure = last_words_of(api, job);
  return job_page(job, *curve, console, to_seconds(Context::now())) +
         (failure.empty() ? "" : fmt::format("\n{}\n", failure));
}

Result<int> show_job(Context& context, Api& api, std::uint32_t id, const Output& output) {
  return show(context.console, output, [&]() -> Result<std::string> {
    const auto job = api.get(job_target(id));
    if (!job) return fail(job.error());
    return drawn(api, *job, output, context.console);
  });
}

}  // namespace

Command show_command() {
  return {"show",
          "",
          "Jobs",
          "Show everything about a job",
          "paceline show 7\npaceline show 7 -o json",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Show>();
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            options.output(typed->output, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return for_each_job(context, typed->ids, [&](Api& api, std::uint32_t id) {
                return show_job(context, api, id, *output);
              });
            };
          }};
}

}  // namespace paceline
