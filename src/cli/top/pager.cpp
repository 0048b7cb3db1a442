#include "cli/top/pager.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace paceline {
namespace {

constexpr std::size_t kLinesMax = 10'000;

}  // namespace

void Pager::set(Rows lines) {
  lines_.assign(lines.begin(), lines.end());
  wrapped_.clear();
  unfinished_.clear();
  const auto width = std::exchange(width_, 0);
  if (width > 0) wrap(width);
}

void Pager::add(std::string line) {
  lines_.push_back(std::move(line));
  if (width_ > 0) wrapped_.push_back(wrapped(lines_.back(), width_));
  if (lines_.size() <= kLinesMax) return;
  lines_.pop_front();
  if (width_ == 0) return;
  first_ -= std::min(first_, wrapped_.front().size());
  wrapped_.pop_front();
}

void Pager::set_unfinished(Rows lines) { unfinished_ = std::move(lines); }

void Pager::wrap(std::size_t width) {
  if (std::exchange(width_, width) == width) return;
  wrapped_.clear();
  for (const auto& line : lines_) wrapped_.push_back(wrapped(line, width));
}

bool Pager::press(const Key& key) {
  const auto last = rows_ > height_ ? rows_ - height_ : 0;
  const auto page = std::max<std::size_t>(height_, 2) - 1;
  const auto up = [&](std::size_t rows) { first_ -= std::min(rows, first_); };
  const auto down = [&](std::size_t rows) { first_ = std::min(first_ + rows, last); };
  if (key.kind == KeyKind::up || key.text == "k")
    up(1);
  else if (key.kind == KeyKind::down || key.text == "j")
    down(1);
  else if (key.kind == KeyKind::page_up)
    up(page);
  else if (key.kind == KeyKind::page_down || key.text == " ")
    down(page);
  else if (key.kind == KeyKind::home || key.text == "g")
    first_ = 0;
  else if (key.kind == KeyKind::end || key.text == "G")
    first_ = last;
  else
    return false;
  follows_ = first_ == last && (follows_ || key.kind == KeyKind::end || key.text == "G" ||
                                key.kind == KeyKind::down || key.kind == KeyKind::page_down);
  return true;
}

Rows Pager::draw(const Paper& paper) {
  constexpr std::size_t kNarrowest = 2;
  wrap(std::max(paper.size.columns, kNarrowest));
  Rows last;
  for (const auto& line : unfinished_) {
    for (auto& row : wrapped(line, width_)) last.push_back(std::move(row));
  }
  rows_ = last.size();
  for (const auto& line : wrapped_) rows_ += line.size();
  height_ = paper.size.lines;
  const auto end = rows_ > height_ ? rows_ - height_ : 0;
  first_ = follows_ ? end : std::min(first_, end);

  Rows drawn;
  std::size_t row = 0;
  const auto take = [&](const std::string& text) {
    if (row >= first_ && drawn.size() < height_) drawn.push_back(text);
    ++row;
  };
  for (const auto& line : wrapped_) {
    if (row + line.size() <= first_) {
      row += line.size();
      continue;
    }
    if (drawn.size() == height_) break;
    for (const auto& text : line) take(text);
  }
  for (const auto& text : last) take(text);
  return drawn;
}

std::string Pager::position() const {
  if (rows_ <= height_) return "";
  const auto end = rows_ - height_;
  return first_ == end ? "end" : fmt::format("{}%", 100 * first_ / end);
}

}  // namespace paceline
