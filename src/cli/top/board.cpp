#include "cli/top/board.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/words/job_view.hpp"

namespace paceline {
namespace {

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
  Space           stand still: slots and queue stay as they are; go on
  Ctrl-L          draw it all again
  Ctrl-Z          to the shell; 'fg' comes back

START and ETA: in how long a job is expected to start, to end. >2h: not before.
A 'promised' slot bears the job that is to get it.
)";

bool leaves_view(const Key& key) { return key.kind == KeyKind::escape || key.text == "q"; }

void without_last_letter(std::string& text) {
  const auto is_rest = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  while (!text.empty() && is_rest(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

Board::Board(Begin begin) : filter_(std::move(begin.filter)), ended_(begin.ended), uid_(begin.uid) {
  help_.set(lines_of(kHelp));
}

void Board::keep_cursor() {
  queue_.keep_cursor(cluster_, filter_);
  slots_.keep_cursor(cluster_, filter_);
}

void Board::told(BoardNews news) {
  if (cluster_.told(news, ended_)) keep_cursor();
  if (news.page && news.page->id == open_) page_ = std::move(news.page);
  if (!news.log || !log_ || news.log->of != log_wish_) return;
  log_wrong_ = news.log->failed ? news.log->failed->message : "";
  if (!news.log->failed) log_->told(*news.log);
}

BoardWish Board::wish() const {
  BoardWish wish{.ended = ended_, .stands = stands_, .seen = queue_.seen()};
  for (const auto view : views_) {
    if (view == View::log) wish.log = log_wish_;
    if (view != View::help) wish.page = static_cast<std::uint32_t>(open_);
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
  if (key.text == "?") views_.push_back(View::help);
  if (key.text == " ") stands_ = !stands_;
  if (key.text == "a") ended_ = !ended_;
  if (key.text == "/") {
    typed_ = filter_.text();
    before_typing_ = filter_;
  }
  if (queue_.press_sort(key))
    keep_cursor();
  else if (pane_ == Pane::slots)
    slots_.press(key);
  else
    queue_.press(key);
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

void Board::open(std::int64_t job) {
  if (std::exchange(open_, job) == job) return;
  page_.reset();
  log_.reset();
}

void Board::open_page() {
  const auto job = selected();
  if (!job) return;
  open(*job);
  pager_ = Pager(Pager::Opens::at_begin);
  views_.push_back(View::page);
}

void Board::open_log() {
  if (view() == View::board) {
    const auto job = selected();
    if (!job) return;
    open(*job);
  }
  views_.push_back(View::log);
  read_log_of({});
}

void Board::read_log_of(std::optional<std::int64_t> rank) {
  constexpr std::int64_t kLinesLeast = 20, kLinesMost = 1000, kLinesOfAll = 10'000;
  const auto each = rank ? kLinesMost : std::clamp(kLinesOfAll / ranks(), kLinesLeast, kLinesMost);
  log_wish_ = {static_cast<std::uint32_t>(open_), rank, static_cast<std::size_t>(each),
               log_wish_.opened + 1};
  log_wrong_.clear();
  log_.emplace(!rank && ranks() > 1);
}

const Document& Board::open_job() const {
  return page_ && page_->id == open_ && !page_->failed ? page_->job : cluster_.job(open_);
}

// Of the gang, or of what wrote so far.
std::int64_t Board::ranks() const {
  const auto& job = open_job();
  const auto gang = static_cast<std::int64_t>(list_of(job, "gang").size());
  return std::max({gang, whole_of(job, "workers"), log_ ? log_->ranks() : 0, std::int64_t{1}});
}

void Board::set_filter(const std::string& text) {
  auto filter = Filter::parse(text, uid_);
  typed_wrong_ = filter ? "" : filter.error().message;
  if (!filter) return;
  filter_ = std::move(*filter);
  keep_cursor();
}

void Board::press_filter(const Key& key) {
  if (key.kind == KeyKind::enter && typed_wrong_.empty()) return typed_.reset();
  if (key.kind == KeyKind::escape) {
    typed_.reset();
    typed_wrong_.clear();
    filter_ = before_typing_;
    return keep_cursor();
  }
  if (key.kind == KeyKind::backspace) without_last_letter(*typed_);
  if (key.kind == KeyKind::erase_line) typed_->clear();
  if (key.kind == KeyKind::text) *typed_ += key.text;
  set_filter(*typed_);
}

}  // namespace paceline
