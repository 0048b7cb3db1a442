#include "cli/words/study_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/words/table.hpp"
#include "cli/words/text.hpp"
#include "cli/words/units.hpp"

namespace paceline {
namespace {

std::string percent(const Document& run, std::string_view key) {
  return fmt::format("{:.0f} %", 100 * number_of(run, key).value_or(0));
}

std::string count(const Document& run, std::string_view key) {
  return std::to_string(whole_of(run, key));
}

std::string duration(const Document& run, std::string_view key) {
  return human_duration(number_of(run, key).value_or(0));
}

std::string targets_met(const Document& run, std::string_view key) {
  return count(member(run, "targets"), key);
}

bool any_run(const Document& study, const char* key) {
  return std::ranges::any_of(list_of(study, "runs"),
                             [&](const Document& run) { return whole_of(run, key) != 0; });
}

struct RunColumn {
  const char* title;
  const char* key;
  std::string (*text)(const Document& run, std::string_view key);
  // if_any: of the runs has some; if_targets: jobs have some
  enum { always, in_wide, if_any, if_targets } shown = always;
};

constexpr RunColumn kRunColumns[] = {
    {"SEED", "seed", count, RunColumn::if_any},
    {"JOBS", "jobs", count},
    {"JCT", "average_jct_seconds", duration},
    {"MEDIAN", "median_jct_seconds", duration, RunColumn::in_wide},
    {"P99", "p99_jct_seconds", duration},
    {"TARGETS MET", "reached", targets_met, RunColumn::if_targets},
    {"WAIT", "average_wait_seconds", duration},
    {"MAKESPAN", "makespan_seconds", duration, RunColumn::in_wide},
    {"USED", "utilization", percent},
    {"USEFUL", "useful_utilization", percent, RunColumn::in_wide},
    {"STOPS", "preemptions", count},
    {"RESIZES", "resizes", count, RunColumn::if_any},
    {"FAILED ROUNDS", "failed_rounds", count, RunColumn::if_any},
};

std::string runs_table(const Document& study, const Console& console, const Output& output) {
  const bool has_targets = !text_of(member(study, "settings"), "learning").empty();
  std::vector<RunColumn> shown;
  std::vector<Column> columns{{"POLICY", Align::left, 12}};
  for (const RunColumn& column : kRunColumns) {
    if (column.shown == RunColumn::in_wide && output.format != Format::wide) continue;
    if (column.shown == RunColumn::if_any && !any_run(study, column.key)) continue;
    if (column.shown == RunColumn::if_targets && !has_targets) continue;
    shown.push_back(column);
    columns.push_back({column.title, Align::right});
  }
  columns.push_back({"UNFAIR", Align::right});
  Table table(std::move(columns));
  for (const auto& run : list_of(study, "runs")) {
    std::vector<Cell> row{{text_of(run, "policy"), Style::bold}};
    for (const RunColumn& column : shown) row.push_back({column.text(run, column.key)});
    row.push_back({percent(member(run, "unfairness"), "above_one")});
    table.add(std::move(row));
  }
  return table.render(console.look(output.header));
}

std::string comparisons_table(const Document& study, const Console& console, bool header) {
  Table table({{"POLICY"}, {"AGAINST"}, {"MEASURE"}, {"RATIO", Align::right}, {"95 %"}});
  for (const auto& one : list_of(study, "comparisons")) {
    const auto low = number_of(one, "low"), high = number_of(one, "high");
    table.add({{text_of(one, "policy"), Style::bold},
               {text_of(one, "against")},
               {text_of(one, "measure")},
               {fmt::format("{:.3f}", number_of(one, "ratio").value_or(0))},
               {low && high ? fmt::format("{:.3f} to {:.3f}", *low, *high) : "one seed"}});
  }
  return table.empty() ? "" : "\n" + table.render(console.look(header));
}

// Nothing where all devices are of one model.
std::string devices_line(const Document& settings) {
  std::vector<std::string> devices;
  for (const auto& device : list_of(settings, "devices"))
    devices.push_back(device.is_string() ? device.get<std::string>() : "?");
  if (devices.size() < 2) return "";
  const auto speeds = text_of(settings, "device_speeds");
  if (!speeds.empty()) return fmt::format("Devices: {}.\n", speeds);
  return fmt::format("Devices: {} count as equally fast; --device-speeds says otherwise.\n",
                     fmt::join(devices, " and "));
}

// What was left out, and what the numbers rest on.
std::string study_grounds(const Document& study) {
  const Document& trace = member(study, "trace");
  const Document& settings = member(study, "settings");
  const Document& costs = member(settings, "costs");
  const auto& runs = list_of(study, "runs");
  std::string text = fmt::format(
      "{}: {}, format {}.\nLeft out: {} without slots, {} without duration, {} too large, {} bad "
      "lines.\n",
      text_of(trace, "file"), plural(static_cast<std::uint64_t>(whole_of(trace, "jobs")), "job"),
      text_of(trace, "format"), whole_of(trace, "no_slots"), whole_of(trace, "no_duration"),
      runs.empty() ? 0 : whole_of(runs.front(), "rejected"), whole_of(trace, "bad_lines"));
  if (whole_of(trace, "cut_short") + whole_of(trace, "not_over") > 0)
    text += fmt::format("As long as they ran: {} cut short, {} not over yet.\n",
                        whole_of(trace, "cut_short"), whole_of(trace, "not_over"));
  if (whole_of(trace, "users") == 0)
    text += "The trace names no users: to policies all jobs are one user's.\n";
  if (const auto what_if = text_of(member(study, "cluster"), "what_if"); !what_if.empty())
    text +=
        fmt::format("What if: {}, from {}.\n", what_if, text_of(member(study, "cluster"), "text"));
  text += fmt::format(
      "{} on {}; policies know: {}; placement {}; protection {};\n"
      "a restart costs {}, a resize {}; load {}.\n",
      plural(static_cast<std::uint64_t>(whole_of(member(study, "cluster"), "slots")), "slot"),
      plural(static_cast<std::uint64_t>(whole_of(member(study, "cluster"), "nodes")), "node"),
      text_of(settings, "know"), text_of(settings, "placement"),
      flag_of(settings, "protect") ? "on" : "off",
      human_duration(number_of(costs, "restart_seconds").value_or(0)),
      human_duration(number_of(costs, "resize_seconds").value_or(0)),
      number_of(settings, "load").value_or(1));
  const auto elastic = text_of(settings, "elastic");
  const bool profiled = !text_of(member(settings, "profiles"), "batch").empty();
  if (!elastic.empty() || profiled)
    text += fmt::format("Sizes: {}; speed-up {}.\n", elastic.empty() ? "as asked for" : elastic,
                        text_of(settings, "speedup"));
  text += devices_line(settings);
  if (const auto learning = text_of(settings, "learning"); !learning.empty())
    text += fmt::format("Learning: {}; targets met after {} of a training.\n", learning,
                        text_of(settings, "reach"));
  return text + "\n";
}

}  // namespace

std::string study_page(const Document& study, const Console& console, const Output& output) {
  return (output.header ? study_grounds(study) : "") + runs_table(study, console, output) +
         comparisons_table(study, console, output.header);
}

}  // namespace paceline
