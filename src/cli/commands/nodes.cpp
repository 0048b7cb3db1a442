#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/kinds.hpp"
#include "cli/commands/node_words.hpp"
#include "cli/words/table.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kNodesNamedMax = 8;  // nodes of one user

std::size_t count_in(const Document::array_t& slots, std::string_view state) {
  std::size_t count = 0;
  for (const auto& slot : slots) count += text_of(slot, "state") == state ? 1U : 0U;
  return count;
}

// What stands below the table: a line for each node that starts nothing for now, or is to drain.
std::string refusals_of(const Document& answer) {
  const double now = to_seconds(Context::now());
  std::string text;
  for (const auto& node : list_of(answer, "nodes")) {
    if (const auto drain = drain_words(node, now); !drain.empty())
      text += fmt::format("{} {}\n", text_of(node, "name"), drain);
    if (!refuses(node)) continue;
    const auto& refusal = member(node, "refusal");
    if (flag_of(refusal, "unhealthy")) {
      text += fmt::format("{} is unhealthy: {}\n", text_of(node, "name"), text_of(refusal, "why"));
      continue;
    }
    text += fmt::format("{} starts nothing before {}: {}\n", text_of(node, "name"),
                        human_time(number_of(refusal, "until").value_or(0), now),
                        text_of(refusal, "why"));
  }
  return text;
}

// A line for each note about slots that serve all the same.
std::string notes_of(const Document& answer) {
  std::string text;
  for (const auto& node : list_of(answer, "nodes")) {
    std::set<std::string> notes;
    for (const auto& slot : list_of(node, "slots"))
      if (const auto state = text_of(slot, "state"); state != "unusable" && state != "down")
        notes.insert(text_of(slot, "note"));
    for (const auto& note : notes)
      if (!note.empty()) text += fmt::format("{}: {}\n", text_of(node, "name"), note);
  }
  return text;
}

// A line for each user whom some nodes serve alone.
std::string owners_of(const Document& answer) {
  std::map<std::string, std::vector<std::string>> nodes;
  for (const auto& node : list_of(answer, "nodes"))
    if (const auto user = text_of(node, "only_user"); !user.empty())
      nodes[user].push_back(text_of(node, "name"));
  std::string text;
  for (auto& [user, names] : nodes) {
    const std::size_t more = names.size() - std::min(names.size(), kNodesNamedMax);
    names.resize(names.size() - more);
    text += fmt::format("{} {} only jobs of {}{}\n", fmt::join(names, ", "),
                        names.size() + more == 1 ? "starts" : "start", user,
                        more == 0 ? "" : fmt::format(", and so do {} more", more));
  }
  return text;
}

// And one for each that joined and isn't counted among them.
std::string awaited_of(const Document& answer) {
  std::string text;
  for (const auto& node : list_of(answer, "awaited"))
    text += fmt::format("{} joined, and its agent has not connected yet\n", text_of(node, "name"));
  return text;
}

// When the last word of those that joined came, and their versions, stand there once one joined.
std::string nodes_table(const Document& answer, const Look& look) {
  const auto& nodes = list_of(answer, "nodes");
  const bool many =
      std::ranges::any_of(nodes, [](const Document& node) { return flag_of(node, "joined"); });
  std::vector<Column> columns{{"NODE", Align::left, 8},     {"STATE"},
                              {"FREE", Align::right},       {"SLOTS", Align::left, 6, 3},
                              {"CPUS", Align::right, 0, 1}, {"MEMORY", Align::right, 0, 2}};
  if (many)
    columns.insert(columns.end(), {{"HEARD", Align::right, 0, 5}, {"VERSION", Align::left, 0, 4}});
  columns.push_back({"USE", Align::left, 12, many ? 6U : 4U});
  Table table(std::move(columns));
  for (const auto& node : nodes) {
    const auto& slots = list_of(node, "slots");
    const auto model = slots.empty() ? "" : text_of(slots.front(), "model");
    std::vector<Cell> row{{text_of(node, "name")},
                          node_state(node),
                          {fmt::format("{}/{}", count_in(slots, "free"), slots.size())},
                          {model.empty() ? "-" : model},
                          {human_number(number_of(node, "cpus").value_or(0))},
                          {memory_of(node)}};
    if (many) row.insert(row.end(), {{heard_words(node)}, {or_dash(text_of(node, "version"))}});
    row.push_back({uses_of(slots)});
    table.add(std::move(row));
  }
  return table.render(look) + refusals_of(answer) + notes_of(answer) + owners_of(answer) +
         awaited_of(answer);
}

// One row per slot.
std::string slots_table(const Document& answer, const Look& look) {
  Table table({{"NODE"},
               {"RACK"},
               {"SWITCH"},
               {"SLOT", Align::right},
               {"KIND"},
               {"MODEL"},
               {"MEMORY", Align::right},
               {"ISLAND", Align::right},
               {"NUMA", Align::right},
               {"STATE"},
               {"JOB", Align::right},
               {"RANK", Align::right},
               {"UUID"},
               {"LABELS"},
               {"NOTE"}});
  for (const auto& node : list_of(answer, "nodes")) {
    for (const auto& slot : list_of(node, "slots")) {
      const auto job = whole_of(slot, "job");
      table.add({{text_of(node, "name")},
                 {or_dash(text_of(node, "rack"))},
                 {or_dash(text_of(node, "switch"))},
                 {std::to_string(whole_of(slot, "index"))},
                 {text_of(slot, "kind")},
                 {text_of(slot, "model")},
                 {memory_of(slot)},
                 {std::to_string(whole_of(slot, "island"))},
                 {std::to_string(whole_of(slot, "numa"))},
                 {text_of(slot, "state")},
                 {job > 0 ? std::to_string(job) : "-"},
                 {job > 0 ? std::to_string(whole_of(slot, "rank")) : "-"},
                 {or_dash(text_of(slot, "uuid"))},
                 {or_dash(labels_of(node))},
                 {text_of(slot, "note")}});
    }
  }
  return table.render(look);
}

std::string node_names(const Document& answer) {
  std::string text;
  for (const auto& node : list_of(answer, "nodes")) text += text_of(node, "name") + "\n";
  return text;
}

std::string draw_nodes(const Document& answer, const Output& output, const Console& console) {
  if (output.format == Format::name) return node_names(answer);
  if (output.format == Format::wide)
    return slots_table(answer, {output.header, console.look().color, {}});
  return nodes_table(answer, console.look(output.header));
}

}  // namespace

Command nodes_command() {
  return view_command({"nodes",
                       "",
                       "Cluster",
                       "List the machines, their slots and who uses them",
                       "paceline nodes\npaceline nodes -o wide",
                       {}},
                      "/v1/nodes", draw_nodes);
}

}  // namespace paceline
