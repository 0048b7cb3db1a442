#include <fmt/format.h>

#include "cli/commands/kinds.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

std::string percent(double part) { return fmt::format("{:.0f}%", 100 * part); }

std::string kind_names(const Document::array_t& kinds) {
  std::string names;
  for (const auto& kind : kinds)
    names += fmt::format("{} {}\n", text_of(kind, "of"), text_of(kind, "known"));
  return names;
}

// How good expected times were, by what they were of and how lengths were known.
std::string draw_stats(const Document& answer, const Output& output, const Console& console) {
  const auto& expected = member(answer, "expected");
  const auto& kinds = list_of(expected, "graded");
  if (output.format == Format::name) return kind_names(kinds);
  Table table({{"EXPECTED"},
               {"LENGTHS"},
               {"GRADED", Align::right},
               {"MEDIAN ERROR", Align::right},
               {"OF THE TIME", Align::right},
               {"INSIDE", Align::right},
               {"WIDENED", Align::right}});
  for (const auto& kind : kinds) {
    const auto count = number_of(kind, "count").value_or(1);
    table.add({{text_of(kind, "of")},
               {text_of(kind, "known")},
               {fmt::format("{:.0f}", count)},
               {human_duration(number_of(kind, "median_error_seconds").value_or(0))},
               {percent(number_of(kind, "median_error_ratio").value_or(0))},
               {percent(number_of(kind, "inside").value_or(0) / count)},
               {fmt::format("x{:.1f}", number_of(kind, "widened").value_or(1))}});
  }
  const auto waiting = fmt::format("{} for the truth.\n",
                                   whole_of(expected, "waiting") == 1
                                       ? "1 expected time that was told still waits"
                                       : fmt::format("{} expected times that were told still wait",
                                                     whole_of(expected, "waiting")));
  if (kinds.empty()) return "No expected time that was told has met its truth yet. " + waiting;
  return table.render(console.look(output.header)) + (output.header ? waiting : "");
}

}  // namespace

Command stats_command() {
  return view_command({"stats",
                       "",
                       "Cluster",
                       "How good the expected times were that people were told",
                       "paceline stats\npaceline stats -o json",
                       {}},
                      "/v1/stats", draw_stats);
}

}  // namespace paceline
