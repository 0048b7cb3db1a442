// Pieces of an HTML page. Whatever text goes in is escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paceline::sim {

// A table with a caption above it; the first `words` columns are words, the others numbers.
class HtmlTable {
 public:
  HtmlTable(std::string_view caption, const std::vector<std::string>& header, std::size_t words);
  // REQUIRES: as many cells as the header has. What follows a cell's first line is smaller.
  // `begins`: a group of rows begins here.
  void add(const std::vector<std::string>& cells, bool begins = false);
  [[nodiscard]] std::string take() &&;

 private:
  std::size_t columns_, words_;
  std::string html_;
};

// A list of names and what they mean.
class HtmlTerms {
 public:
  void add(std::string_view term, std::string_view meaning);
  [[nodiscard]] std::string take() &&;

 private:
  std::string html_;
};

std::string html_heading(std::string_view text);
std::string html_paragraph(std::string_view text);
// `svg` is markup already; an empty caption is none.
std::string html_figure(std::string_view svg, std::string_view caption);
// The whole document; `style` and `body` are markup already.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

}  // namespace paceline::sim
