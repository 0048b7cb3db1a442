#include "cli/top/list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/top/motion.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kTitles = 1;  // row above the others
constexpr std::size_t kMark = 1;    // column in front of each row

}  // namespace

void List::set_count(std::size_t count) {
  count_ = count;
  cursor_ = std::min(cursor_, count == 0 ? 0 : count - 1);
}

bool List::press(const Key& key) {
  const auto motion = motion_of(key);
  if (motion)
    cursor_ =
        moved(cursor_, *motion, std::max<std::size_t>(shown_, 1), count_ == 0 ? 0 : count_ - 1);
  return motion.has_value();
}

std::string List::position() const {
  if (shown_ >= count_) return "";
  return fmt::format("{}-{}", human_count(first_ + 1), human_count(first_ + shown_));
}

void List::scroll_to(std::size_t height) {
  shown_ = std::min(height, count_);
  first_ = std::min(first_, count_ - shown_);
  if (cursor_ < first_) first_ = cursor_;
  if (shown_ > 0 && cursor_ >= first_ + shown_) first_ = cursor_ + 1 - shown_;
}

Rows List::draw(const Paper& paper, std::vector<Column> columns,
                const std::function<std::vector<Cell>(std::size_t row)>& cells) {
  scroll_to(paper.size.lines > kTitles ? paper.size.lines - kTitles : 0);
  if (std::exchange(columns_, paper.size.columns) != paper.size.columns) measure_anew();
  usual_.resize(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c].usual = usual_[c];
  Table table(std::move(columns));
  for (std::size_t row = first_; row < first_ + shown_; ++row) table.add(cells(row));
  const auto widths = table.widths();
  for (std::size_t c = 0; c < widths.size(); ++c) usual_[c] = std::max(usual_[c], widths[c]);

  const auto width = paper.size.columns > kMark ? paper.size.columns - kMark : 1;
  const auto rows = lines_of(table.render({.header = true, .color = paper.color, .width = width}));
  Rows drawn;
  for (const auto& row : rows) drawn.push_back(" " + row);
  if (!paper.focused || count_ == 0) return drawn;
  const auto plain = lines_of(table.render({.header = true, .color = false, .width = width}));
  const auto at = cursor_ - first_ + kTitles;
  if (at < drawn.size()) drawn[at] = marked(padded(">" + plain[at], paper.size.columns));
  return drawn;
}

}  // namespace paceline
