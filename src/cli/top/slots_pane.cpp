#include "cli/top/slots_pane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kBar = 10;

std::vector<Column> slot_columns() {
  return {{"NODE", Align::left, 6},       {"SLOT", Align::right},
          {"DEVICE", Align::left, 6, 1},  {"STATE"},
          {"JOB", Align::right},          {"USER", Align::left, 4, 4},
          {"NAME", Align::left, 8},       {"RANK", Align::right, 0, 2},
          {"PROGRESS", Align::left, 0, 3}};
}

// Without the maker's name, which says least: "H100 80GB HBM3".
std::string device_of(const Document& slot) {
  constexpr std::string_view kMaker = "NVIDIA ";
  auto model = text_of(slot, "model");
  if (model.starts_with(kMaker)) model.erase(0, kMaker.size());
  return model.empty() ? text_of(slot, "kind") : model;
}

// "██████····  60%"; what is known of it where that is no part of a whole.
std::string progress_bar(const Document& job) {
  const auto ratio = number_of(member(job, "progress"), "ratio");
  return ratio ? fmt::format("{} {:>4}", bar(*ratio, kBar), progress_text(job))
               : progress_text(job);
}

// "3", "3-7".
std::string span_text(std::int64_t first, std::int64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

Style style_of_slot(const std::string& state) {
  if (state == "free") return Style::dim;
  return state == "down" || state == "unusable" ? Style::red : Style::yellow;
}

}  // namespace

void SlotsPane::add(Slots slot) {
  const auto joins = [&](const Slots& row) {
    const bool alike = row.node == slot.node && row.device == slot.device &&
                       row.state == slot.state && row.note == slot.note && row.job == slot.job;
    return alike && row.last + 1 == slot.first &&
           (row.last_rank == slot.first_rank || row.last_rank + 1 == slot.first_rank);
  };
  if (slots_.empty() || !joins(slots_.back())) return slots_.push_back(std::move(slot));
  slots_.back().last = slot.last;
  slots_.back().last_rank = slot.last_rank;
}

void SlotsPane::keep_cursor(const Cluster& cluster, const Filter& filter) {
  slots_.clear();
  for (const auto& node : list_of(cluster.nodes(), "nodes")) {
    for (const auto& slot : list_of(node, "slots")) {
      const auto index = whole_of(slot, "index"), job = whole_of(slot, "job");
      if (!filter.empty() && (job == 0 || !filter.wants(cluster.job(job)))) continue;
      const auto rank = job > 0 ? whole_of(slot, "rank") : 0;
      add({text_of(node, "name"), device_of(slot), text_of(slot, "state"), text_of(slot, "note"),
           job, index, index, rank, rank});
    }
  }
  list_.set_count(slots_.size());
}

std::optional<std::int64_t> SlotsPane::selected() const {
  if (slots_.empty()) return {};
  const auto job = slots_[std::min(list_.cursor(), slots_.size() - 1)].job;
  return job > 0 ? std::optional(job) : std::nullopt;
}

std::vector<Cell> SlotsPane::cells(std::size_t row, const Cluster& cluster) const {
  const auto& slot = slots_[row];
  // A node is named once, where it begins on the screen.
  const bool named = row == list_.first() || slots_[row - 1].node != slot.node;
  std::vector<Cell> cells = {
      {named ? slot.node : ""}, {span_text(slot.first, slot.last)}, {slot.device}};
  if (slot.job == 0) {
    cells.push_back({slot.state, style_of_slot(slot.state)});
    cells.insert(cells.end(), {{""}, {""}, {slot.note}, {""}, {""}});
    return cells;
  }
  const auto& job = cluster.job(slot.job);
  const auto state = text_of(job, "state");
  const bool leased = slot.state == "leased" && !state.empty();
  cells.push_back(leased ? Cell{state, style_of_state(state)} : Cell{slot.state, Style::cyan});
  cells.insert(cells.end(), {{std::to_string(slot.job)},
                             {text_of(job, "user")},
                             {text_of(job, "name")},
                             {span_text(slot.first_rank, slot.last_rank)},
                             {job.is_null() ? "" : progress_bar(job)}});
  return cells;
}

std::string SlotsPane::title(const Cluster& cluster) const {
  const auto nodes = list_of(cluster.nodes(), "nodes").size();
  const auto slots = static_cast<std::uint64_t>(whole_of(cluster.server(), "slots"));
  const auto rows = list_.position();
  return fmt::format("Slots  {} on {}{}", human_count(slots), plural(nodes, "node"),
                     rows.empty() ? "" : fmt::format(", rows {} shown", rows));
}

Rows SlotsPane::draw(const Paper& paper, const Cluster& cluster) {
  Paper below = paper;
  below.size.lines -= std::min<std::size_t>(below.size.lines, 1);
  auto table =
      list_.draw(below, slot_columns(), [&](std::size_t row) { return cells(row, cluster); });
  if (slots_.empty() && cluster.at()) table = {paper.paint(" No slot is shown.", Style::dim)};
  Rows rows = {paper.paint(cut_to_width(title(cluster), paper.size.columns),
                           paper.focused ? Style::bold : Style::dim)};
  rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

}  // namespace paceline
