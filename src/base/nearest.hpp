// "Unknown key 'prioriy'; did you mean 'priority'?": the known word nearest to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace paceline {

// The known word with the least edit distance (letters inserted, dropped, replaced or swapped), the
// first of equals; nothing if even that one differs in more than half of its letters.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known);

}  // namespace paceline
