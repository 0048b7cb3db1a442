#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/text.hpp"

namespace paceline {
namespace {

std::string page(const Document& why) {
  const auto& lines = list_of(why, "lines");
  std::string text = fmt::format("Job {} is {}.\n", whole_of(why, "id"), text_of(why, "state"));
  if (lines.empty()) text += fmt::format("  {}\n", printable(text_of(why, "reason")));
  for (const auto& line : lines) {
    if (line.is_string()) text += fmt::format("  {}\n", printable(line.get<std::string>()));
  }
  return text;
}

}  // namespace

Command why_command() {
  return {
      "why",
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
          return for_each_job(context, typed->ids, [&](Api& api, std::uint32_t id) -> Result<int> {
            const auto why = api.get(job_target(id, "why"));
            if (!why) return fail(why.error());
            context.console.print(output->format == Format::json ? json_text(*why, context.console)
                                                                 : page(*why));
            return 0;
          });
        };
      }};
}

}  // namespace paceline
