// The text of a claim's files: names and values, each ended by a NUL byte, so that command lines
// and environments need no quoting and a supervisor reads an order of a megabyte without a parser's
// memory.
//
//   FieldWriter out;
//   out.add("argument", "python3");
//   for (auto [name, value] : fields(out.text())) …
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::agent {

class FieldWriter {
 public:
  // A value is cut at its first NUL byte.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, std::int64_t value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using NamedField = std::pair<std::string_view, std::string_view>;

// In the order written; views into `text`. A last field that was cut off is left out.
std::vector<NamedField> fields(std::string_view text);

// A decimal number; 0 for anything else.
std::int64_t field_number(std::string_view value);

}  // namespace paceline::agent
