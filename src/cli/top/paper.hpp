// What is drawn on: a part of the screen, and what it needs to know.
#pragma once

#include <string>
#include <string_view>

#include "cli/top/rows.hpp"
#include "cli/words/table.hpp"

namespace paceline {

struct Paper {
  Size size;
  bool color = false;
  bool focused = false;  // keys go there
  double now = 0;        // seconds since 1970

  [[nodiscard]] std::string paint(std::string_view text, Style style) const {
    return color ? styled(text, style) : std::string(text);
  }
};

}  // namespace paceline
