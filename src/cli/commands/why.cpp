#include <fmt/format.h>

#include "cli/commands/kinds.hpp"
#include "cli/words/expected_text.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

// The first sentence says how the job is, the others stand below it.
std::string page(const Document& why, double now) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "  ", printable(line));
  };
  for (const auto& line : list_of(why, "lines")) {
    if (!line.is_string()) continue;
    const bool first = text.empty();
    add(line.get<std::string>());
    if (!first) continue;
    for (const auto& when : expected_lines(why, now)) add(when);
    for (const auto& change : change_lines(why, now)) add(change);
    if (const auto position = whole_of(why, "position"); position > 0)
      add(fmt::format("It is number {} in line.", position));
  }
  return text.empty() ? job_sentence(why) + "\n" : text;
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
