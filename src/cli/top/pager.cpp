#include "cli/top/pager.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/top/motion.hpp"

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
  const auto motion = key.text == " " ? std::optional(Motion::page_down) : motion_of(key);
  if (!motion) return false;
  first_ = moved(first_, *motion, page, last);
  const bool onward =
      *motion == Motion::down || *motion == Motion::page_down || *motion == Motion::to_end;
  follows_ = first_ == last && (follows_ || onward);
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
