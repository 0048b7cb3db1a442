// The part of Lua's library that a script may use. It lacks what reaches outside (io, os, require,
// load, print), what could hide work from the limits (coroutine, xpcall, patterns, table.move), and
// what shows or depends on addresses. In their place:
//
//   pairs, next               in the order of the keys: numbers, then texts, then false and true
//   string.find(text, part)   plain text only
//   glob(text, "eval-*")      * stands for any text, ? for one letter
#pragma once

#include <cstdint>
#include <lua.hpp>

namespace paceline {

// Raises on lack of memory. Leaves the stack as it was.
void open_library(lua_State* lua, std::uint64_t seed);

// Pushes an iterator over the table at `index`, as pairs() returns it: three values.
int push_pairs(lua_State* lua, int index);

}  // namespace paceline
