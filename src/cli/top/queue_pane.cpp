#include "cli/top/queue_pane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"
#include "model/job_state.hpp"

namespace paceline {
namespace {

// What a job is sorted by: a number or a text; the unknown stands last either way round.
struct SortKey {
  bool unknown = false;
  double number = 0;
  std::string text = {};
};

SortKey by(std::optional<double> number) { return {!number, number.value_or(0)}; }

SortKey by_state(const Document& job) {
  const auto state = parse_job_state(text_of(job, "state"));
  return {!state, static_cast<double>(state.value_or(JobState::pending))};
}

SortKey by_time(const Document& job) {
  const bool started = number_of(job, "started_at").has_value();
  return by(number_of(job, started ? "ran_seconds" : "waited_seconds"));
}

// An interval without a likeliest time is later than any.
SortKey by_expected(const Document& expected) {
  const auto at = number_of(expected, "at");
  return by(at ? at : number_of(expected, "earliest"));
}

struct Sortable {
  std::size_t column;  // of job_columns()
  SortKey (*key)(const Document& job);
};

constexpr std::array kSortable = {
    Sortable{0, [](const Document& job) { return by(number_of(job, "id")); }},
    Sortable{1,
             [](const Document& job) {
               return SortKey{false, 0, text_of(job, "name")};
             }},
    Sortable{2,
             [](const Document& job) {
               return SortKey{false, 0, text_of(job, "user")};
             }},
    Sortable{3, by_state},
    Sortable{4, [](const Document& job) { return by(number_of(job, "workers")); }},
    Sortable{5,
             [](const Document& job) { return by(number_of(member(job, "progress"), "ratio")); }},
    Sortable{7, by_time},
    Sortable{8, [](const Document& job) { return by_expected(member(job, "expected_start")); }},
    Sortable{9, [](const Document& job) { return by_expected(member(job, "expected_end")); }}};

struct Sorted {
  SortKey key;
  std::int64_t id;
};

bool stands_before(const Sorted& a, const Sorted& b, bool reversed) {
  if (a.key.unknown != b.key.unknown) return b.key.unknown;
  if (!a.key.unknown) {
    const auto& first = reversed ? b.key : a.key;
    const auto& second = reversed ? a.key : b.key;
    if (first.number != second.number) return first.number < second.number;
    if (first.text != second.text) return first.text < second.text;
  }
  return a.id < b.id;
}

}  // namespace

std::optional<std::int64_t> QueuePane::selected() const {
  if (ids_.empty()) return {};
  return ids_[std::min(list_.cursor(), ids_.size() - 1)];
}

void QueuePane::select(std::int64_t id) {
  const auto found = std::ranges::find(ids_, id);
  if (found != ids_.end()) list_.set_cursor(static_cast<std::size_t>(found - ids_.begin()));
}

void QueuePane::keep_cursor(const Cluster& cluster, const Filter& filter) {
  const auto former = selected();
  std::vector<Sorted> jobs;
  for (const auto& [id, job] : cluster.jobs()) {
    if (filter.wants(job)) jobs.push_back({kSortable.at(key_).key(job), id});
  }
  std::ranges::sort(jobs,
                    [&](const auto& a, const auto& b) { return stands_before(a, b, reversed_); });
  ids_.clear();
  for (const auto& job : jobs) ids_.push_back(job.id);
  list_.set_count(ids_.size());
  if (former) select(*former);
}

void QueuePane::sort_by_next(int step) {
  const auto count = static_cast<int>(kSortable.size());
  key_ = static_cast<std::size_t>((static_cast<int>(key_) + step + count) % count);
  list_.measure_anew();
}

bool QueuePane::press_sort(const Key& key) {
  if (key.text == "s" || key.text == ">")
    sort_by_next(1);
  else if (key.text == "<")
    sort_by_next(-1);
  else if (key.text == "r")
    reversed_ = !reversed_;
  else
    return false;
  // What comes first now is what one wants to see.
  ids_.clear();
  list_.set_cursor(0);
  return true;
}

std::vector<std::int64_t> QueuePane::seen() const {
  const auto first =
      ids_.begin() + static_cast<std::ptrdiff_t>(std::min(list_.first(), ids_.size()));
  const auto count = std::min(list_.shown(), static_cast<std::size_t>(ids_.end() - first));
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

std::vector<Column> QueuePane::columns() const {
  auto columns = job_columns(false);
  columns[kSortable.at(key_).column].title += reversed_ ? "▼" : "▲";
  return columns;
}

std::string QueuePane::title(const Cluster& cluster, const Filter& filter) const {
  const auto all = cluster.jobs().size();
  std::string text = "Queue  " + plural(all, "job");
  if (!filter.empty())
    text = fmt::format("Queue  {} of {}", human_count(ids_.size()), plural(all, "job"));
  if (const auto rows = list_.position(); !rows.empty()) text += fmt::format(", {} shown", rows);
  if (!filter.empty()) text += "  /" + printable(filter.text());
  return text;
}

Rows QueuePane::draw(const Paper& paper, const Cluster& cluster, const Filter& filter) {
  Paper below = paper;
  below.size.lines -= std::min<std::size_t>(below.size.lines, 1);
  auto table = list_.draw(below, columns(), [&](std::size_t row) {
    return job_cells(cluster.job(ids_[row]), false, paper.now);
  });
  if (ids_.empty() && cluster.at()) {
    table = {paper.paint(filter.empty() ? " No job waits or runs." : " No job is so.", Style::dim)};
  }
  Rows rows = {paper.paint(cut_to_width(title(cluster, filter), paper.size.columns),
                           paper.focused ? Style::bold : Style::dim)};
  rows.insert(rows.end(), table.begin(), table.end());
  return rows;
}

}  // namespace paceline
