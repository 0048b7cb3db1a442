// check(condition, "what must hold"): our own mistakes, always on. A failed check prints the place and aborts: the state is a
// fold of the journal, so stopping loses nothing, and going on could.
#pragma once

#include <source_location>
#include <string_view>

namespace paceline {

[[noreturn]] void check_failed(std::string_view what, const std::source_location& where);

inline void check(bool condition, std::string_view what,
                  const std::source_location& where = std::source_location::current()) {
  if (!condition) [[unlikely]] check_failed(what, where);
}

}  // namespace paceline
