// Keys that move through what is longer than the screen, with the letters that less and vi have for them.
#pragma once

#include <cstddef>
#include <optional>

#include "cli/top/key.hpp"

namespace paceline {

enum class Motion { up, down, page_up, page_down, to_begin, to_end };

// Nothing: it is another key.
std::optional<Motion> motion_of(const Key& key);

// The row after it, from 0 to `last`; `page`: rows of a page.
std::size_t moved(std::size_t row, Motion motion, std::size_t page, std::size_t last);

}  // namespace paceline
