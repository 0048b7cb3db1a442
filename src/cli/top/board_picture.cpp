// How the board is drawn; keys and news are in board.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "cli/top/board.hpp"
#include "cli/top/header.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kBesideFrom = 160;  // columns from which slots and queue stand side by side
constexpr std::size_t kSlotsLeast = 76, kSlotsMost = 88;  // columns of the slots then
constexpr std::size_t kBothFrom = 10;                     // lines from which both are shown
constexpr std::size_t kSentenceFrom = 12;                 // lines from which there is room for one
constexpr std::size_t kPaneLeast = 4;                     // lines: two of titles, two of rows
constexpr std::string_view kBetween = " │ ";

void append(Rows& rows, const Rows& more) { rows.insert(rows.end(), more.begin(), more.end()); }

Paper part_of(const Paper& paper, Size size, bool focused) {
  Paper part = paper;
  part.size = size;
  part.focused = focused;
  return part;
}

}  // namespace

std::string Board::bottom(const Paper& paper) const {
  const auto width = paper.size.columns;
  if (typed_) {
    const auto typed = printable("/" + *typed_) + "_";
    if (typed_wrong_.empty()) return cut_to_width(typed + "   Enter: keep  Esc: drop", width);
    return cut_to_width(typed + "   " + printable(typed_wrong_), width);
  }
  std::string_view hints;
  switch (view()) {
    case View::board:
      hints = "Enter open  l log  / filter  s sort  a ended  Tab slots/queue  ? help  q quit";
      break;
    case View::page:
      hints = "Up Down scroll  l log  ? help  Esc back";
      break;
    case View::log:
      hints = "Up Down scroll  End follow  Left Right rank  ? help  Esc back";
      break;
    case View::help:
      hints = "Up Down scroll  Esc back";
      break;
  }
  const auto position = view() == View::page   ? pager_.position()
                        : view() == View::help ? help_.position()
                                               : "";
  const auto ends = fitted(std::string(hints), position, width);
  return paper.paint(ends.left + ends.right, Style::dim);
}

// Of the job under the cursor, as its row may be too narrow for it.
std::string Board::sentence(const Paper& paper) const {
  const auto& job = cluster_.job(selected().value_or(0));
  return job.is_null() ? "" : cut_to_width(job_sentence(job), paper.size.columns);
}

Rows Board::draw_beside(const Paper& paper) {
  const auto [columns, lines] = paper.size;
  const auto left = std::clamp(columns * 2 / 5, kSlotsLeast, kSlotsMost);
  const auto between = display_width(kBetween);
  const auto slots = slots_.draw(part_of(paper, {left, lines}, pane_ == Pane::slots), cluster_);
  const auto queue = queue_.draw(
      part_of(paper, {columns - left - between, lines}, pane_ == Pane::queue), cluster_, filter_);
  Rows rows;
  for (std::size_t row = 0; row < lines; ++row) {
    auto text = padded(row < slots.size() ? slots[row] : "", left);
    text += paper.paint(kBetween, Style::dim);
    rows.push_back(text + (row < queue.size() ? queue[row] : ""));
  }
  return rows;
}

// The slots have half of it, and what the queue doesn't need.
Rows Board::draw_below(const Paper& paper) {
  const auto [columns, lines] = paper.size;
  const auto needs = cluster_.jobs().size() + 2;
  const auto spare = lines > needs ? lines - needs : 0;
  const auto above = std::min(slots_.height(), std::max({lines / 2, spare, kPaneLeast})) + 1;
  auto rows = slots_.draw(part_of(paper, {columns, above - 1}, pane_ == Pane::slots), cluster_);
  rows.resize(above);
  append(rows, queue_.draw(part_of(paper, {columns, lines - above}, pane_ == Pane::queue), cluster_,
                           filter_));
  return rows;
}

Rows Board::draw_board(const Paper& paper) {
  if (paper.size.columns >= kBesideFrom) return draw_beside(paper);
  if (paper.size.lines < kBothFrom) {
    const auto only = part_of(paper, paper.size, true);
    return pane_ == Pane::slots ? slots_.draw(only, cluster_)
                                : queue_.draw(only, cluster_, filter_);
  }
  return draw_below(paper);
}

Rows Board::page_lines(const Paper& paper) const {
  if (!page_) return {"Asking the server…"};
  if (page_->failed) return {printable(page_->failed->message), printable(page_->failed->hint)};
  const Console ink({.color = paper.color});
  auto rows = lines_of(job_page(page_->job, page_->curve, ink, paper.now));
  append(rows, {"", paper.paint("Why", Style::bold)});
  for (const auto& line : why_lines(page_->why, paper.now)) rows.push_back("  " + line);
  return rows;
}

std::string Board::view_title(const Paper& paper) const {
  const auto& job = open_job();
  const auto rank = log_wish_.rank ? fmt::format("  rank {} of {}", *log_wish_.rank, ranks())
                    : ranks() > 1  ? fmt::format("  all {} ranks", ranks())
                                   : "";
  auto text = fmt::format("Log of job {}  {}  {}{}", open_, printable(text_of(job, "name")),
                          text_of(job, "state"), rank);
  if (!log_->pager().follows())
    text += fmt::format("  {}, End follows", log_->pager().position());
  else if (!is_over(job))
    text += "  following";
  return paper.paint(cut_to_width(text, paper.size.columns), Style::bold);
}

Rows Board::draw_view(const Paper& paper) {
  if (view() == View::help) return help_.draw(paper);
  if (view() == View::page) {
    pager_.set(page_lines(paper));
    return pager_.draw(paper);
  }
  Rows rows = {view_title(paper)};
  if (!log_wrong_.empty()) append(rows, wrapped(printable(log_wrong_), paper.size.columns));
  Paper below = paper;
  below.size.lines -= std::min(below.size.lines, rows.size());
  const auto lines = log_->draw(below);
  if (lines.empty() && log_->begun())
    rows.push_back(paper.paint("Nothing is written yet.", Style::dim));
  append(rows, lines);
  return rows;
}

Rows Board::draw(const Paper& paper) {
  constexpr std::size_t kColumnsLeast = 20, kLinesLeast = 5;
  if (paper.size.columns < kColumnsLeast || paper.size.lines < kLinesLeast)
    return {cut_to_width("Too small", std::max<std::size_t>(paper.size.columns, 1))};
  auto rows = draw_header(paper, cluster_, stands_);
  Rows foot = {bottom(paper)};
  if (view() == View::board && paper.size.lines >= kSentenceFrom)
    foot.insert(foot.begin(), sentence(paper));
  Paper body = paper;
  body.size.lines -= rows.size() + foot.size();
  append(rows, view() == View::board ? draw_board(body) : draw_view(body));
  rows.resize(paper.size.lines - foot.size());
  append(rows, foot);
  return rows;
}

Rows Board::draw_whole(Paper paper) {
  constexpr std::size_t kNoEnd = 1'000'000, kUsual = 80;
  paper.focused = false;
  paper.size.lines = kNoEnd;
  auto rows = slots_.draw(paper, cluster_);
  rows.emplace_back();
  append(rows, queue_.draw(paper, cluster_, filter_));
  std::size_t width = kUsual;
  for (const auto& row : rows) width = std::max(width, row_width(row));
  paper.size.columns = std::min(width, paper.size.columns);
  auto whole = draw_header(paper, cluster_, false);
  whole.emplace_back();
  append(whole, rows);
  for (auto& row : whole) row.erase(row.find_last_not_of(' ') + 1);
  return whole;
}

}  // namespace paceline
