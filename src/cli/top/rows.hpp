// Rows of a screen: lines of text that may hold styles (SGR sequences, as words/table.hpp makes
// them), measured and cut without them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

using Rows = std::vector<std::string>;

struct Size {
  std::size_t columns = 80;
  std::size_t lines = 24;
  friend bool operator==(const Size&, const Size&) = default;
};

// The lines of a text, without their ends.
Rows lines_of(std::string_view text);

std::size_t row_width(std::string_view row);
// Spaces behind it up to `width`.
std::string padded(std::string row, std::size_t width);
// A line in rows that are no wider, cut between words where there are any. A style and the spaces
// that the line begins with go on in the row below. REQUIRES: width > 1.
Rows wrapped(std::string_view line, std::size_t width);
// Reverse video: where the eye shall be.
std::string marked(std::string_view row);

// "left … right" in exactly `width` columns; where both don't fit the left one is cut, then the
// right one. Neither holds styles.
struct Ends {
  std::string left, right;
};
Ends fitted(std::string left, std::string right, std::size_t width);

// "██████····": `ratio` of so many columns, a ratio outside 0..1 as the nearer end.
std::string bar(double ratio, std::size_t columns);

}  // namespace paceline
