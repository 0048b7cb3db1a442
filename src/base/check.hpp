// check(condition, "what must hold"): our own mistakes, always on. A failed check prints the place
// and aborts: the state is a fold of the journal, so stopping loses nothing, and going on could.
#pragma once

#include <string_view>

namespace paceline {

// Where a check stands. std::source_location, which clang 14 does not have yet.
struct Place {
  const char* file;
  int line;
  const char* function;

  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                              const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

[[noreturn]] void check_failed(std::string_view what, const Place& where);

inline void check(bool condition, std::string_view what, const Place& where = Place::here()) {
  if (!condition) [[unlikely]]
    check_failed(what, where);
}

}  // namespace paceline
