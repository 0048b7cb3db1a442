#include <fmt/format.h>

#include "cli/words/expected_text.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

std::string names(const Document::array_t& list) {
  std::string text;
  for (const auto& name : list) {
    if (name.is_string()) text += (text.empty() ? "" : ",") + name.get<std::string>();
  }
  return text.empty() ? "-" : text;
}

std::vector<Cell> wide_cells(const Document& job, double now) {
  const auto command = text_of(job, "command");
  return {{expected_span(member(job, "expected_start"), now)},
          {expected_span(member(job, "expected_end"), now)},
          {std::to_string(whole_of(job, "priority"))},
          {std::to_string(whole_of(job, "attempt"))},
          {std::to_string(whole_of(job, "resizes"))},
          {names(list_of(job, "nodes"))},
          {command.empty() ? "-" : command}};
}

Cell metric_cell(const Document& job) {
  const bool reached = flag_of(member(job, "target"), "reached");
  return {metric_text(job), reached ? Style::green : Style::plain};
}

}  // namespace

std::vector<Column> job_columns(bool wide) {
  std::vector<Column> columns = {{"ID", Align::right},           {"NAME", Align::left, 8},
                                 {"USER", Align::left, 4, 4},    {"STATE"},
                                 {"WORKERS", Align::left, 0, 2}, {"PROGRESS", Align::right, 0, 5},
                                 {"METRIC", Align::left, 6, 1},  {"TIME", Align::right, 0, 3},
                                 {"START", Align::right, 0, 6},  {"ETA", Align::right, 0, 7}};
  if (wide) {
    columns.insert(columns.end(), {{"START BETWEEN"},
                                   {"END BETWEEN"},
                                   {"PRIORITY", Align::right},
                                   {"ATTEMPT", Align::right},
                                   {"RESIZES", Align::right},
                                   {"NODES"},
                                   {"COMMAND"}});
  }
  columns.push_back({"REASON", Align::left, 12, 8});
  return columns;
}

std::vector<Cell> job_cells(const Document& job, bool wide, double now) {
  const auto state = text_of(job, "state");
  std::vector<Cell> cells = {{std::to_string(whole_of(job, "id"))},
                             {text_of(job, "name")},
                             {text_of(job, "user")},
                             {state, style_of_state(state)},
                             {workers_text(job)},
                             {progress_text(job)},
                             metric_cell(job),
                             {time_text(job)},
                             {expected_cell(member(job, "expected_start"), now)},
                             {expected_cell(member(job, "expected_end"), now)}};
  if (wide) {
    auto more = wide_cells(job, now);
    cells.insert(cells.end(), more.begin(), more.end());
  }
  cells.push_back({reason_text(job)});
  return cells;
}

std::string jobs_table(const Document::array_t& jobs, const Output& output, const Console& console,
                       double now) {
  const bool wide = output.format == Format::wide;
  auto look = console.look(output.header);
  if (wide) look.width.reset();
  Table table(job_columns(wide));
  for (const auto& job : jobs) table.add(job_cells(job, wide, now));
  return table.render(look);
}

}  // namespace paceline
