#include "cli/top/board.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/top/header.hpp"
#include "cli/words/job_view.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kBesideFrom = 160;  // columns from which slots and queue stand side by side
constexpr std::size_t kSlotsLeast = 76, kSlotsMost = 88;  // columns of the slots then
constexpr std::size_t kBothFrom = 10;                     // lines from which both are shown
constexpr std::size_t kPaneLeast = 4;                     // lines: two of titles, two of rows
constexpr std::string_view kBetween = " │ ";

constexpr std::string_view kHelp =
    R"(Who has which slots, and the queue. Nothing here changes anything on the server.

  Up Down, j k    one row; PgUp PgDn, Home End, g G: further
  Tab             to the other list: slots, queue
  Enter           open the job: all that 'show' and 'why' say of it
  l               follow its log; only its owner and root may
    Left Right      of all ranks, of one; also 0 to 9
    Up, End         stop following; follow again
  Esc, q          back; q on the first screen leaves, and Ctrl-C anywhere
  /               filter jobs and slots: Enter keeps it, Esc drops it
    train           stands in name, user or state; or an id
    train*          the name, as a shell reads it; also name:train*
    user:ann  me    whose they are
    state:pend      their state; also PENDING
  s >  <          sort the queue by the next column, by the one before
  r               the other way round
  a               with the newest jobs that are over, or without them
  Space           pause: slots and queue stay as they are; go on
  Ctrl-L          draw it all again
  Ctrl-Z          to the shell; 'fg' comes back

START and ETA: in how long a job is expected to start, to end. >2h: not before.
A 'promised' slot bears the job that is to get it.
)";

bool leaves_view(const Key& key) { return key.kind == KeyKind::escape || key.text == "q"; }

bool sorts(const Key& key) {
  return key.text == "s" || key.text == "<" || key.text == ">" || key.text == "r";
}

void without_last_letter(std::string& text) {
  const auto is_rest = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (!text.empty() && is_rest(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

void append(Rows& rows, const Rows& more) { rows.insert(rows.end(), more.begin(), more.end()); }

Paper part_of(const Paper& paper, Size size, bool focused) {
  Paper part = paper;
  part.size = size;
  part.focused = focused;
  return part;
}

}  // namespace

Board::Board(Begin begin) : filter_(std::move(begin.filter)), ended_(begin.ended), uid_(begin.uid) {
  help_.set(lines_of(kHelp));
}

void Board::settle() {
  queue_.settle(cluster_, filter_);
  slots_.settle(cluster_, filter_);
}

void Board::told(News news) {
  cluster_.told(news, ended_);
  settle();
  if (news.page && news.page->id == open_) page_ = std::move(news.page);
  if (!news.log || !log_ || news.log->of != log_wish_) return;
  log_wrong_ = news.log->failed ? news.log->failed->message : "";
  if (!news.log->failed) log_->told(*news.log);
}

Wish Board::wish() const {
  Wish wish{.ended = ended_, .paused = paused_, .seen = queue_.seen()};
  for (const auto view : views_) {
    if (view == View::page) wish.page = static_cast<std::uint32_t>(open_);
    if (view == View::log) wish.log = log_wish_;
  }
  return wish;
}

std::optional<std::int64_t> Board::selected() const {
  return pane_ == Pane::slots ? slots_.selected() : queue_.selected();
}

bool Board::press(const Key& key) {
  if (key.kind == KeyKind::interrupt) return false;
  if (typed_) {
    press_filter(key);
    return true;
  }
  if (view() == View::board) return press_board(key);
  if (key.text == "?" && view() != View::help)
    views_.push_back(View::help);
  else if (leaves_view(key))
    views_.pop_back();
  else if (!press_view(key) && key.text == "l" && view() == View::page)
    open_log();
  return true;
}

bool Board::press_board(const Key& key) {
  if (key.text == "q") return false;
  if (key.kind == KeyKind::escape) set_filter("");
  if (key.kind == KeyKind::tab) pane_ = pane_ == Pane::queue ? Pane::slots : Pane::queue;
  if (key.kind == KeyKind::enter) open_page();
  if (key.text == "l") open_log();
  if (key.text == "?" || key.text == "h") views_.push_back(View::help);
  if (key.text == " ") paused_ = !paused_;
  if (key.text == "a") ended_ = !ended_;
  if (key.text == "/") {
    typed_ = filter_.text();
    before_typing_ = filter_;
  }
  const bool moved = pane_ == Pane::slots && !sorts(key) ? slots_.press(key) : queue_.press(key);
  if (moved && sorts(key)) settle();
  return true;
}

bool Board::press_view(const Key& key) {
  if (view() == View::help) return help_.press(key);
  if (view() == View::page) return pager_.press(key);
  press_log(key);
  return true;
}

void Board::press_log(const Key& key) {
  const auto last = ranks() - 1;
  const auto rank = log_wish_.rank.value_or(-1);
  const bool digit = key.text.size() == 1 && key.text[0] >= '0' && key.text[0] <= '9';
  if (key.kind == KeyKind::right)
    read_log_of(rank < last ? std::optional(rank + 1) : std::nullopt);
  else if (key.kind == KeyKind::left)
    read_log_of(rank < 0 ? std::optional(last) : rank > 0 ? std::optional(rank - 1) : std::nullopt);
  else if (digit && key.text[0] - '0' <= last)
    read_log_of(key.text[0] - '0');
  else if (log_)
    log_->press(key);
}

void Board::open_page() {
  const auto job = selected();
  if (!job) return;
  if (open_ != *job) page_.reset();
  open_ = *job;
  pager_ = Pager(Pager::Opens::at_begin);
  views_.push_back(View::page);
}

void Board::open_log() {
  if (view() == View::board) {
    const auto job = selected();
    if (!job) return;
    open_ = *job;
  }
  views_.push_back(View::log);
  read_log_of({});
}

void Board::read_log_of(std::optional<std::int64_t> rank) {
  log_wish_ = {static_cast<std::uint32_t>(open_), rank, log_wish_.opened + 1};
  log_wrong_.clear();
  log_.emplace(!rank && ranks() > 1);
}

// Of the gang, or of what wrote so far.
std::int64_t Board::ranks() const {
  const auto& job = page_ && page_->id == open_ ? page_->job : cluster_.job(open_);
  const auto gang = static_cast<std::int64_t>(list_of(job, "gang").size());
  return std::max({gang, whole_of(job, "workers"), log_ ? log_->ranks() : 0, std::int64_t{1}});
}

void Board::set_filter(const std::string& text) {
  auto filter = Filter::parse(text, uid_);
  typed_wrong_ = filter ? "" : filter.error().message;
  if (!filter) return;
  filter_ = std::move(*filter);
  settle();
}

void Board::press_filter(const Key& key) {
  if (key.kind == KeyKind::enter && typed_wrong_.empty()) return typed_.reset();
  if (key.kind == KeyKind::escape) {
    typed_.reset();
    typed_wrong_.clear();
    filter_ = before_typing_;
    return settle();
  }
  if (key.kind == KeyKind::backspace) without_last_letter(*typed_);
  if (key.kind == KeyKind::erase_line) typed_->clear();
  if (key.kind == KeyKind::text) *typed_ += key.text;
  set_filter(*typed_);
}

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
  const auto& job = cluster_.job(open_);
  const auto rank = log_wish_.rank ? fmt::format("  rank {} of {}", *log_wish_.rank, ranks())
                    : ranks() > 1  ? fmt::format("  all {} ranks", ranks())
                                   : "";
  auto text = fmt::format("Log of job {}  {}{}", open_, printable(text_of(job, "name")), rank);
  text += log_->pager().follows() ? "  following"
                                  : fmt::format("  {}, End follows", log_->pager().position());
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
  append(rows, log_->draw(below));
  return rows;
}

Rows Board::draw(const Paper& paper) {
  constexpr std::size_t kColumnsLeast = 20, kLinesLeast = 5;
  if (paper.size.columns < kColumnsLeast || paper.size.lines < kLinesLeast)
    return {cut_to_width("Too small", std::max<std::size_t>(paper.size.columns, 1))};
  auto rows = draw_header(paper, cluster_, paused_);
  Paper body = paper;
  body.size.lines -= rows.size() + 1;
  append(rows, view() == View::board ? draw_board(body) : draw_view(body));
  rows.resize(paper.size.lines - 1);
  rows.push_back(bottom(paper));
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
