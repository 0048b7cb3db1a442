#include <fmt/format.h>

#include "cli/job_view.hpp"
#include "cli/text.hpp"

namespace paceline {
namespace {

std::vector<Column> columns(bool wide) {
  std::vector<Column> columns = {{"ID", Align::right},
                                 {"NAME"},
                                 {"USER"},
                                 {"STATE"},
                                 {"WORKERS"},
                                 {"PROGRESS", Align::right},
                                 {"METRIC"},
                                 {"TIME", Align::right}};
  if (wide) {
    columns.insert(columns.end(), {{"PRIORITY", Align::right},
                                   {"ATTEMPT", Align::right},
                                   {"RESIZES", Align::right},
                                   {"NODES"},
                                   {"COMMAND"}});
  }
  columns.push_back({"REASON", Align::left, true});
  return columns;
}

std::string names(const Document::array_t& list) {
  std::string text;
  for (const auto& name : list) {
    if (name.is_string()) text += (text.empty() ? "" : ",") + name.get<std::string>();
  }
  return text.empty() ? "-" : text;
}

std::vector<Cell> wide_cells(const Document& job) {
  const auto command = text_of(job, "command");
  return {{std::to_string(whole_of(job, "priority"))},
          {std::to_string(whole_of(job, "attempt"))},
          {std::to_string(whole_of(job, "resizes"))},
          {names(list_of(job, "nodes"))},
          {command.empty() ? "-" : command}};
}

// Whole, unless one long word would push the others off a terminal.
std::string fitted(std::string text, const Look& look) {
  constexpr std::size_t kWordMax = 32;
  return look.width ? cut_to_width(printable(text), kWordMax) : std::move(text);
}

Cell metric_cell(const Document& job, const Look& look) {
  const bool reached = flag_of(member(job, "target"), "reached");
  return {fitted(metric_text(job), look), reached ? Style::green : Style::plain};
}

std::vector<Cell> row(const Document& job, bool wide, const Look& look) {
  const auto state = text_of(job, "state");
  std::vector<Cell> cells = {{std::to_string(whole_of(job, "id"))},
                             {fitted(text_of(job, "name"), look)},
                             {text_of(job, "user")},
                             {state, style_of_state(state)},
                             {workers_text(job)},
                             {progress_text(job)},
                             metric_cell(job, look),
                             {time_text(job)}};
  if (wide) {
    auto more = wide_cells(job);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  cells.push_back({reason_text(job)});
  return cells;
}

}  // namespace

std::string jobs_table(const Document::array_t& jobs, const Output& output,
                       const Console& console) {
  const bool wide = output.format == Format::wide;
  auto look = console.look(output.header);
  if (wide) look.width.reset();
  Table table(columns(wide));
  for (const auto& job : jobs) table.add(row(job, wide, look));
  return table.render(look);
}

}  // namespace paceline
