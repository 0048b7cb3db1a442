#include "model/limits.hpp"

#include "cli/commands/kinds.hpp"
#include "cli/words/table.hpp"

namespace paceline {
namespace {

std::string amount(const Document& limit, std::string_view key) {
  const auto unit = parse_limit_unit(text_of(limit, "unit")).value_or(LimitUnit::count);
  return limit_text(unit, static_cast<std::uint64_t>(whole_of(limit, key)));
}

std::string draw_limits(const Document& answer, const Output& output, const Console& console) {
  Table table(
      {{"LIMIT"}, {"VALUE", Align::right}, {"DEFAULT", Align::right}, {"COUNTS", Align::left, 20}});
  std::string names;
  for (const auto& limit : list_of(answer, "limits")) {
    names += text_of(limit, "name") + "\n";
    table.add({{text_of(limit, "name")},
               {amount(limit, "value")},
               {amount(limit, "default")},
               {text_of(limit, "counts")}});
  }
  return output.format == Format::name ? names : table.render(console.look(output.header));
}

}  // namespace

Command limits_command() {
  return view_command({"limits",
                       "",
                       "Cluster",
                       "What one user or job may take of this server",
                       "paceline limits\npaceline up --limit connections-per-user=128",
                       {}},
                      "/v1/limits", draw_limits);
}

}  // namespace paceline
