#include <fmt/format.h>

#include "cli/commands/kinds.hpp"
#include "cli/words/job_view.hpp"

namespace paceline {
namespace {

// The first sentence says how the job is, the others stand below it.
std::string page(const Document& why, double now) {
  std::string text;
  for (const auto& line : why_lines(why, now)) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "  ", line);
  }
  return text;
}

}  // namespace

Command why_command() {
  return {"why",
          "",
          "Jobs",
          "Say why a job is as it is, and what would change it",
          "paceline why 7",
          [](Options& options) -> Action {
            struct Why {
              std::vector<std::string> ids;
              OutputOptions output;
            };
            const auto typed = std::make_shared<Why>();
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return for_each_job(
                  context, typed->ids, [&](Api& api, std::uint32_t id) -> Result<int> {
                    const auto why = api.get(job_target(id, "why"));
                    if (!why) return fail(why.error());
                    context.console.print(output->format == Format::json
                                              ? json_text(*why, context.console)
                                              : page(*why, to_seconds(Context::now())));
                    return 0;
                  });
            };
          }};
}

}  // namespace paceline
