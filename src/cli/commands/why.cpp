#include <fmt/format.h>

#include "cli/client/failing_rank.hpp"
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

// What a job that failed wrote last, below.
std::string failure(Api& api, std::uint32_t id, const Document& why) {
  if (text_of(why, "state") != "FAILED") return {};
  const auto job = api.get(job_target(id));
  const auto text = job ? last_words_of(api, *job) : "";
  return text.empty() ? "" : text + "\n";
}

struct Why {
  std::vector<std::string> ids;
  OutputOptions output;
};

Result<int> tell_why(Context& context, Api& api, std::uint32_t id, const Output& output) {
  const auto why = api.get(job_target(id, "why"));
  if (!why) return fail(why.error());
  context.console.print(output.format == Format::json
                            ? json_text(*why, context.console)
                            : page(*why, to_seconds(Context::now())) + failure(api, id, *why));
  return 0;
}

}  // namespace

Command why_command() {
  return {"why",
          "",
          "Jobs",
          "Say why a job is as it is, and what would change it",
          "paceline why 7",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<Why>();
            options.words("ID", typed->ids, Count::some, "ids of jobs");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(typed->output);
              if (!output) return fail(output.error());
              return for_each_job(context, typed->ids, [&](Api& api, std::uint32_t id) {
                return tell_why(context, api, id, *output);
              });
            };
          }};
}

}  // namespace paceline
