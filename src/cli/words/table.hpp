// A compact aligned table: two spaces between columns, a title row, and columns that give way to
// the terminal's width: no line is wider. Texts are cut first, then columns are left out: those in
// which nothing stands before the others.
//
//   Table table({{"ID", Align::right}, {"NODE", Align::left, 0, 1}, {"REASON", Align::left, 12}});
//   table.add({{"7"}, {"-"}, {"waits for 4 free slots"}});
//   std::string text = table.render({.header = true, .color = false, .width = {}});
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

enum class Style { plain, bold, dim, green, yellow, red, cyan };

// `text` in its style for a terminal; unchanged if it is plain.
std::string styled(std::string_view text, Style style);

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  std::size_t narrowest = 0;  // to which it gives way to a narrow terminal; 0: it doesn't
  std::size_t leaves = 0;     // whose turn it is to be left out: 1 goes first; 0: never
  std::size_t usual = 0;      // as wide as this although no row needs it: rows that follow may
};

struct Cell {
  std::string text;  // made printable by the table
  Style style = Style::plain;
};

struct Look {
  bool header = true;
  bool color = false;
  std::optional<std::size_t> width;  // columns of the terminal; nothing: never cut
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // REQUIRES: one cell per column.
  void add(std::vector<Cell> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // How wide the widest row makes each column, its title left aside.
  [[nodiscard]] std::vector<std::size_t> widths() const;
  // Lines, each ending in a newline, none in a space.
  [[nodiscard]] std::string render(const Look& look) const;

 private:
  // A column that is shown, and how wide.
  struct Shown {
    std::size_t column = 0;
    std::size_t width = 0;
  };

  [[nodiscard]] std::vector<Shown> shown(const Look& look) const;
  [[nodiscard]] bool says_nothing(std::size_t column) const;
  [[nodiscard]] std::size_t narrowest(const Shown& shown) const;
  void leave_out(std::vector<Shown>& shown, std::size_t terminal) const;
  void narrow(std::vector<Shown>& shown, std::size_t terminal) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace paceline
