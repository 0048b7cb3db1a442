#include "cli/words/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr std::size_t kGap = 2;

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::bold:
      return "\x1b[1m";
    case Style::dim:
      return "\x1b[2m";
    case Style::green:
      return "\x1b[32m";
    case Style::yellow:
      return "\x1b[33m";
    case Style::red:
      return "\x1b[31m";
    case Style::cyan:
      return "\x1b[36m";
    case Style::plain:
      break;
  }
  return "";
}

// One line from its cells; trailing padding is left out.
class Line {
 public:
  explicit Line(bool color) : color_(color) {}

  void add(std::string_view text, Style style, Align align, std::size_t width) {
    const std::string shown = cut_to_width(text, std::max<std::size_t>(width, 1));
    const std::size_t padding = width - std::min(width, display_width(shown));
    if (align == Align::right) pending_ += padding;
    if (!shown.empty()) {
      text_.append(pending_, ' ');
      pending_ = 0;
      text_ += color_ ? styled(shown, style) : shown;
    }
    if (align == Align::left) pending_ += padding;
    pending_ += kGap;
  }
  [[nodiscard]] std::string take() { return std::move(text_) + "\n"; }

 private:
  bool color_;
  std::size_t pending_ = 0;
  std::string text_;
};

}  // namespace

std::string styled(std::string_view text, Style style) {
  if (style == Style::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", escape_of(style), text);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> row) {
  check(row.size() == columns_.size(), "a row has one cell per column");
  for (auto& cell : row) cell.text = printable(cell.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::widths(const Look& look) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = look.header ? display_width(columns_[c].title) : 0;
    for (const auto& row : rows_) width = std::max(width, display_width(row[c].text));
    widths.push_back(width);
  }
  if (look.width) fit(widths, *look.width);
  return widths;
}

// The widest column that gives way loses one place at a time: long words are cut before short ones.
void Table::fit(std::vector<std::size_t>& widths, std::size_t terminal) const {
  auto all = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  for (; all > terminal; --all) {
    std::size_t widest = columns_.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool gives_way = columns_[c].narrowest > 0 && widths[c] > columns_[c].narrowest;
      if (gives_way && (widest == columns_.size() || widths[c] > widths[widest])) widest = c;
    }
    if (widest == columns_.size()) return;
    --widths[widest];
  }
}

std::string Table::render(const Look& look) const {
  const auto width = widths(look);
  std::string text;
  if (look.header) {
    Line line(look.color);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line.add(columns_[c].title, Style::dim, columns_[c].align, width[c]);
    }
    text += line.take();
  }
  for (const auto& row : rows_) {
    Line line(look.color);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      line.add(row[c].text, row[c].style, columns_[c].align, width[c]);
    }
    text += line.take();
  }
  return text;
}

}  // namespace paceline
