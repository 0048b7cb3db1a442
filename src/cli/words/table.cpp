#include "cli/words/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>

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

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths(columns_.size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], display_width(row[c].text));
  }
  return widths;
}

std::vector<Table::Shown> Table::shown(const Look& look) const {
  std::vector<Shown> shown;
  const auto needed = widths();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const std::size_t title = look.header ? display_width(columns_[c].title) : 0;
    shown.push_back({c, std::max({title, needed[c], columns_[c].usual})});
  }
  if (!look.width) return shown;
  leave_out(shown, *look.width);
  narrow(shown, *look.width);
  return shown;
}

bool Table::says_nothing(std::size_t column) const {
  constexpr std::size_t kDash = 1;
  return columns_[column].usual <= kDash && std::ranges::all_of(rows_, [&](const auto& row) {
           return row[column].text.empty() || row[column].text == "-";
         });
}

std::size_t Table::narrowest(const Shown& shown) const {
  const auto narrowest = columns_[shown.column].narrowest;
  return narrowest == 0 ? shown.width : std::min(narrowest, shown.width);
}

// Until the rest fits at its narrowest. The last column that is left is never left out.
void Table::leave_out(std::vector<Shown>& shown, std::size_t terminal) const {
  const auto turn = [&](const Shown& one) {
    const auto leaves = columns_[one.column].leaves;
    const auto never = leaves == 0;
    // What never leaves goes where there is no other way, the rightmost first.
    return std::tuple(never, !never && !says_nothing(one.column),
                      never ? columns_.size() - one.column : leaves);
  };
  const auto least = [&] {
    return std::accumulate(shown.begin(), shown.end(), kGap * (shown.size() - 1),
                           [&](std::size_t sum, const Shown& one) { return sum + narrowest(one); });
  };
  while (shown.size() > 1 && least() > terminal) {
    shown.erase(std::ranges::min_element(shown, {}, turn));
  }
}

// The widest column that gives way loses one place at a time: long words are cut before short ones.
void Table::narrow(std::vector<Shown>& shown, std::size_t terminal) const {
  auto all = std::accumulate(shown.begin(), shown.end(), kGap * (shown.size() - 1),
                             [](std::size_t sum, const Shown& one) { return sum + one.width; });
  for (; all > terminal; --all) {
    Shown* widest = nullptr;
    for (auto& one : shown) {
      const bool gives_way = one.width > narrowest(one) || shown.size() == 1;
      if (gives_way && (widest == nullptr || one.width > widest->width)) widest = &one;
    }
    check(widest != nullptr, "what is shown fits at its narrowest");
    if (widest->width <= 1) return;
    --widest->width;
  }
}

std::string Table::render(const Look& look) const {
  const auto columns = shown(look);
  std::string text;
  if (look.header) {
    Line line(look.color);
    for (const auto& [c, width] : columns) {
      line.add(columns_[c].title, Style::dim, columns_[c].align, width);
    }
    text += line.take();
  }
  for (const auto& row : rows_) {
    Line line(look.color);
    for (const auto& [c, width] : columns) {
      line.add(row[c].text, row[c].style, columns_[c].align, width);
    }
    text += line.take();
  }
  return text;
}

}  // namespace paceline
