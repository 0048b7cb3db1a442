#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/table.hpp"

namespace paceline {
namespace {

// What a policy is, and for one that somebody brought, whether it failed since.
std::string summary_of(const Document& policy) {
  const auto failure = text_of(policy, "failure");
  return (failure.empty() ? "" : "FAILED; ") + text_of(policy, "summary");
}

std::string table_of(const Document& answer, const Output& output, const Console& console) {
  const auto active = text_of(member(answer, "active"), "name");
  Table table({{"POLICY"}, {"ACTIVE"}, {"ELASTIC"}, {"SUMMARY", Align::left, 12}});
  for (const auto& policy : list_of(answer, "policies")) {
    const auto name = text_of(policy, "name");
    table.add({{name, name == active ? Style::green : Style::plain},
               {name == active ? "yes" : ""},
               {flag_of(policy, "elastic") ? "yes" : "no"},
               {summary_of(policy)}});
  }
  return table.render(console.look(output.header));
}

std::string names_of(const Document& answer) {
  std::string text;
  for (const auto& policy : list_of(answer, "policies")) text += text_of(policy, "name") + "\n";
  return text;
}

}  // namespace

Command policy_list_command() {
  return {"policy list",
          "",
          "Cluster",
          "List the policies; one of them is active",
          "paceline policy list",
          [](Options& options) -> Action {
            const auto typed = std::make_shared<OutputOptions>();
            options.output(*typed, Watchable::yes);
            return [typed](Context& context) -> Result<int> {
              const auto output = read_output(*typed);
              if (!output) return fail(output.error());
              const auto api = context.api();
              if (!api) return fail(api.error());
              return show(context.console, *output, [&]() -> Result<std::string> {
                const auto answer = (*api)->get("/v1/policy");
                if (!answer) return fail(answer.error());
                if (output->format == Format::json) return json_text(*answer, context.console);
                if (output->format == Format::name) return names_of(*answer);
                return table_of(*answer, *output, context.console);
              });
            };
          }};
}

}  // namespace paceline
