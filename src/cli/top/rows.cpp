#include "cli/top/rows.hpp"

#include <algorithm>
#include <cmath>

#include "base/utf8.hpp"
#include "cli/words/text.hpp"

namespace paceline {
namespace {

constexpr char kStyleBegins = '\x1b';

// Bytes of the style at the start of `row`; 0: there is none.
std::size_t style_length(std::string_view row) {
  if (row.empty() || row.front() != kStyleBegins) return 0;
  const auto end = row.find('m');
  return end == row.npos ? row.size() : end + 1;
}

// Bytes of the letter or style at the start of `row`.
std::size_t piece_length(std::string_view row) {
  const auto style = style_length(row);
  return style > 0 ? style : std::max<std::size_t>(utf8_length(row), 1);
}

constexpr std::string_view kPlain = "\x1b[0m";

// The styles that hold behind `text` where `style` holds in front of it.
std::string style_after(std::string style, std::string_view text) {
  while (!text.empty()) {
    const auto piece = text.substr(0, piece_length(text));
    text.remove_prefix(piece.size());
    if (piece == kPlain)
      style.clear();
    else if (style_length(piece) > 0)
      style += piece;
  }
  return style;
}

// Bytes of the beginning of `line` for one row: up to its last space, if that leaves half a row; at
// least one letter.
std::size_t fitting(std::string_view line, std::size_t width) {
  std::size_t at = 0, used = 0, space = 0;
  while (at < line.size()) {
    const auto piece = line.substr(at, piece_length(line.substr(at)));
    const auto columns = piece.front() == kStyleBegins ? 0 : display_width(piece);
    if (piece == " " && used > width / 2) space = at;
    if (used > 0 && used + columns > width) return space > 0 ? space : at;
    used += columns;
    at += piece.size();
  }
  return at;
}

}  // namespace

Rows lines_of(std::string_view text) {
  Rows rows;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    rows.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

std::size_t row_width(std::string_view row) {
  std::size_t width = 0;
  while (!row.empty()) {
    const auto piece = piece_length(row);
    if (row.front() != kStyleBegins) width += display_width(row.substr(0, piece));
    row.remove_prefix(piece);
  }
  return width;
}

std::string padded(std::string row, std::size_t width) {
  const auto there = row_width(row);
  if (there < width) row.append(width - there, ' ');
  return row;
}

Rows wrapped(std::string_view line, std::size_t width) {
  const auto first = std::min(line.find_first_not_of(' '), line.size());
  const std::string indent(first < width / 2 ? first : 0, ' ');
  Rows rows;
  std::string style;
  for (;;) {
    const auto head = fitting(line, width - (rows.empty() ? 0 : indent.size()));
    std::string row = (rows.empty() ? "" : indent) + style + std::string(line.substr(0, head));
    style = style_after(style, line.substr(0, head));
    line.remove_prefix(head);
    if (!line.empty() && !style.empty()) row += kPlain;
    if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    rows.push_back(std::move(row));
    if (line.empty()) return rows;
  }
}

std::string marked(std::string_view row) { return "\x1b[7m" + std::string(row) + "\x1b[0m"; }

Ends fitted(std::string left, std::string right, std::size_t width) {
  constexpr std::size_t kApart = 2;
  if (width == 0) return {};
  right = cut_to_width(right, width);
  const auto taken = display_width(right);
  if (taken + kApart >= width) return {std::string(width - taken, ' '), std::move(right)};
  left = padded(cut_to_width(left, width - taken - kApart), width - taken);
  return {std::move(left), std::move(right)};
}

std::string bar(double ratio, std::size_t columns) {
  const double part = std::isnan(ratio) ? 0 : std::clamp(ratio, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(std::floor(part * static_cast<double>(columns)));
  std::string text;
  for (std::size_t i = 0; i < columns; ++i) text += i < full ? "█" : "·";
  return text;
}

}  // namespace paceline
