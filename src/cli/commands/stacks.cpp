#include <fmt/format.h>

#include "cli/client/watch.hpp"
#include "cli/commands/kinds.hpp"
#include "cli/words/units.hpp"
#include "model/job_spec.hpp"

namespace paceline {
namespace {

struct StacksWords {
  std::vector<std::string> id;
  std::optional<std::string> rank;
  OutputOptions output;
};

Result<std::string> stacks_target(std::uint32_t id, const std::optional<std::string>& rank) {
  const auto target = job_target(id, "stacks");
  if (!rank) return target;
  const auto number = parse_whole(*rank, {0, kWorkersMax});
  if (!number) return fail(number.error().code, "--rank: " + number.error().message);
  return fmt::format("{}?rank={}", target, *number);
}

std::string drawn(const Document& answer) {
  std::string text;
  for (const auto& rank : list_of(answer, "ranks")) {
    text += fmt::format("{}== rank {} on {}\n", text.empty() ? "" : "\n", whole_of(rank, "rank"),
                        text_of(rank, "node"));
    const auto problem = text_of(rank, "problem");
    text += problem.empty() ? text_of(rank, "text") : problem + "\n";
  }
  return text;
}

Result<int> print_stacks(Context& context, Api& api, std::uint32_t id, const StacksWords& typed) {
  const auto output = read_output(typed.output);
  if (!output) return fail(output.error());
  const auto target = stacks_target(id, typed.rank);
  if (!target) return fail(target.error());
  return show(context.console, *output, [&]() -> Result<std::string> {
    const auto answer = api.get(*target);
    if (!answer) return fail(answer.error());
    return output->format == Format::json ? json_text(*answer, context.console) : drawn(*answer);
  });
}

}  // namespace

Command stacks_command() {
  return {"stacks",
          "",
          "Jobs",
          "Print what the threads of a job's workers are doing now: their Python and native stacks",
          "paceline stacks 7\npaceline stacks --rank 2 7",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<StacksWords>();
            options.value("--rank", "N", typed->rank, "only this worker");
            options.words("ID", typed->id, Count::one, "id of a job");
            options.output(typed->output, Watchable::no);
            return [typed](Context& context) {
              return for_each_job(context, typed->id, [&](Api& api, std::uint32_t id) {
                return print_stacks(context, api, id, *typed);
              });
            };
          }};
}

}  // namespace paceline
