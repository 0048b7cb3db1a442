#include <fmt/format.h>

#include "cli/commands/kinds.hpp"
#include "cli/words/table.hpp"

namespace paceline {
namespace {

// What a policy is, and before that, for one that somebody brought, why it failed last.
std::string summary_of(const Document& policy) {
  const auto failure = text_of(policy, "failure");
  const auto summary = text_of(policy, "summary");
  if (failure.empty()) return summary;
  return fmt::format("failed: {}{}{}", failure, summary.empty() ? "" : "  ", summary);
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

std::string policy_names(const Document& answer) {
  std::string text;
  for (const auto& policy : list_of(answer, "policies")) text += text_of(policy, "name") + "\n";
  return text;
}

}  // namespace

Command policy_list_command() {
  return view_command({"policy list",
                       "",
                       "Cluster",
                       "List the policies; one of them is active",
                       "paceline policy list",
                       {}},
                      "/v1/policy",
                      [](const Document& answer, const Output& output, const Console& console) {
                        return output.format == Format::name ? policy_names(answer)
                                                             : table_of(answer, output, console);
                      });
}

}  // namespace paceline
