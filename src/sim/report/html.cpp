#include "sim/report/html.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "sim/report/markup.hpp"

namespace paceline::sim {

HtmlTable::HtmlTable(std::string_view caption, const std::vector<std::string>& header,
                     std::size_t words)
    : columns_(header.size()), words_(words) {
  html_ = fmt::format(
      "<div class=\"wide\"><table>\n<caption>{}</caption>\n"
      "<thead><tr>",
      escaped(caption));
  for (std::size_t i = 0; i < header.size(); ++i)
    html_ += fmt::format("<th scope=\"col\"{}>{}</th>", i < words_ ? " class=\"word\"" : "",
                         escaped(header[i]));
  html_ += "</tr></thead>\n<tbody>\n";
}

void HtmlTable::add(const std::vector<std::string>& cells, bool begins) {
  check(cells.size() == columns_, "a row is as wide as its table");
  html_ += begins ? "<tr class=\"begins\">" : "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view tag = i < words_ ? "th scope=\"row\" class=\"word\"" : "td";
    const std::string_view cell = cells[i];
    const std::size_t first = std::min(cell.find('\n'), cell.size());
    html_ += fmt::format("<{}>{}", tag, escaped(cell.substr(0, first)));
    if (first < cell.size())
      html_ += fmt::format("<br><small>{}</small>", escaped(cell.substr(first + 1)));
    html_ += fmt::format("</{}>", tag.substr(0, 2));
  }
  html_ += "</tr>\n";
}

std::string HtmlTable::take() && { return std::move(html_) + "</tbody></table></div>\n"; }

void HtmlTerms::add(std::string_view term, std::string_view meaning) {
  html_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(term), escaped(meaning));
}

std::string HtmlTerms::take() && { return fmt::format("<dl>\n{}</dl>\n", html_); }

std::string html_heading(std::string_view text) {
  return fmt::format("<h2>{}</h2>\n", escaped(text));
}

std::string html_paragraph(std::string_view text) {
  return fmt::format("<p>{}</p>\n", escaped(text));
}

std::string html_figure(std::string_view svg, std::string_view caption) {
  const std::string below =
      caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", escaped(caption));
  return fmt::format("<figure>\n{}{}</figure>\n", svg, below);
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n{2}"
      "</main>\n</body>\n</html>\n",
      escaped(title), style, body);
}

}  // namespace paceline::sim
