#include "policy/lua/library.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "policy/lua/sandbox.hpp"

namespace paceline {
namespace {

std::string_view text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  const char* text = luaL_checklstring(lua, index, &size);
  return {text, size};
}

// ---- order ----

// A key of a table: the order of numbers, texts, false, true.
struct Key {
  int kind = 0;
  double number = 0;
  lua_Integer whole = 0;
  std::string_view text;

  friend bool operator<(const Key& a, const Key& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (a.number != b.number) return a.number < b.number;
    if (a.whole != b.whole) return a.whole < b.whole;
    return a.text < b.text;
  }
};

// REQUIRES: a text stays in its table while the key is used.
Key key_at(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      return {0, lua_tonumber(lua, index), lua_tointeger(lua, index), {}};
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* text = lua_tolstring(lua, index, &size);
      return {1, 0, 0, {text, size}};
    }
    case LUA_TBOOLEAN:
      return {2, lua_toboolean(lua, index) != 0 ? 1.0 : 0.0, 0, {}};
    default:
      luaL_error(lua,
                 "only tables whose keys are numbers, texts or truth values have an order; "
                 "this one has a %s for a key: use its id",
                 luaL_typename(lua, index));
      return {};
  }
}

struct PlacedKey {
  Key key;
  lua_Integer place = 0;  // in the table of all keys
};

// Pushes the keys of the table at `index` as a list in their order.
void push_keys(lua_State* lua, int index) {
  index = lua_absindex(lua, index);
  std::vector<PlacedKey> keys;
  lua_newtable(lua);
  const int all = lua_gettop(lua);
  for (lua_pushnil(lua); lua_next(lua, index) != 0;) {
    lua_pop(lua, 1);
    lua_pushvalue(lua, -1);
    keys.push_back({key_at(lua, -1), static_cast<lua_Integer>(keys.size()) + 1});
    lua_rawseti(lua, all, keys.back().place);
  }
  Sandbox::charge(lua, 4 * static_cast<std::int64_t>(keys.size()));
  const auto before = [](const PlacedKey& a, const PlacedKey& b) { return a.key < b.key; };
  if (std::is_sorted(keys.begin(), keys.end(), before)) return;
  std::sort(keys.begin(), keys.end(), before);
  lua_createtable(lua, static_cast<int>(keys.size()), 0);
  lua_Integer place = 0;
  for (const auto& key : keys) {
    lua_rawgeti(lua, all, key.place);
    lua_rawseti(lua, -2, ++place);
  }
  lua_remove(lua, all);
}

// Upvalues: the table, its keys, the place of the next. Keys whose value is gone are passed over.
int next_pair(lua_State* lua) {
  lua_Integer place = lua_tointeger(lua, lua_upvalueindex(3));
  for (;; ++place) {
    if (lua_rawgeti(lua, lua_upvalueindex(2), place) == LUA_TNIL) return 1;
    lua_pushvalue(lua, -1);
    if (lua_rawget(lua, lua_upvalueindex(1)) != LUA_TNIL) break;
    lua_pop(lua, 2);
    Sandbox::charge(lua, 1);
  }
  lua_pushinteger(lua, place + 1);
  lua_replace(lua, lua_upvalueindex(3));
  return 2;
}

int pairs(lua_State* lua) {
  if (luaL_getmetafield(lua, 1, "__pairs") != LUA_TNIL) {
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 3);
    return 3;
  }
  luaL_checktype(lua, 1, LUA_TTABLE);
  return push_pairs(lua, 1);
}

// The key that follows the one given, nil for the first; with its value.
int next_key(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  const bool first = lua_isnil(lua, 2);
  const Key after = first ? Key{} : key_at(lua, 2);
  bool found = false;
  std::int64_t seen = 0;
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; ++seen) {  // stack: table key [best] at value
    lua_pop(lua, 1);
    const Key key = key_at(lua, -1);
    if (!first && !(after < key)) continue;
    if (found && !(key < key_at(lua, 3))) continue;
    lua_pushvalue(lua, -1);
    if (found)
      lua_replace(lua, 3);
    else
      lua_insert(lua, 3);
    found = true;
  }
  Sandbox::charge(lua, 4 * seen);
  if (!found) return lua_pushnil(lua), 1;
  lua_settop(lua, 3);
  lua_pushvalue(lua, 3);
  lua_rawget(lua, 1);
  return 2;
}

// ---- base ----

constexpr std::int64_t kErrorCost = 1'000;

// As the library's, with a price for what it catches: unwinding takes long.
int protected_call(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int status = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
  if (status != LUA_OK) Sandbox::charge(lua, kErrorCost);
  lua_pushboolean(lua, status == LUA_OK ? 1 : 0);
  lua_insert(lua, 1);
  return lua_gettop(lua);
}

int set_metatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnoneornil(lua, 2)) {
    luaL_checktype(lua, 2, LUA_TTABLE);
    for (const char* field : {"__gc", "__mode"}) {
      lua_pushstring(lua, field);
      if (lua_rawget(lua, 2) != LUA_TNIL) luaL_error(lua, "a policy has no %s", field);
      lua_pop(lua, 1);
    }
  }
  if (luaL_getmetafield(lua, 1, "__metatable") != LUA_TNIL)
    luaL_error(lua, "this table keeps its metatable");
  lua_settop(lua, 2);
  lua_setmetatable(lua, 1);
  return 1;
}

constexpr std::int64_t kNumberCost = 80;  // of a number's text

int to_text(lua_State* lua) {
  luaL_checkany(lua, 1);
  const int type = lua_type(lua, 1);
  if (type == LUA_TNUMBER) Sandbox::charge(lua, kNumberCost);
  const bool plain = type != LUA_TTABLE && type != LUA_TFUNCTION && type != LUA_TUSERDATA;
  if (plain || luaL_getmetafield(lua, 1, "__tostring") != LUA_TNIL) {
    luaL_tolstring(lua, 1, nullptr);
    return 1;
  }
  lua_pushstring(lua, luaL_typename(lua, 1));
  return 1;
}

// ---- string ----

int repeat(lua_State* lua) {
  const auto text = text_at(lua, 1);
  const lua_Integer times = luaL_checkinteger(lua, 2);
  const auto between = lua_isnoneornil(lua, 3) ? std::string_view() : text_at(lua, 3);
  const auto one = static_cast<lua_Integer>(text.size()) + static_cast<lua_Integer>(between.size());
  luaL_Buffer buffer;
  luaL_buffinit(lua, &buffer);
  for (lua_Integer i = 0; i < times && one > 0; ++i) {
    Sandbox::charge(lua, 1 + one / 64);
    luaL_addlstring(&buffer, text.data(), text.size());
    if (i + 1 < times) luaL_addlstring(&buffer, between.data(), between.size());
  }
  luaL_pushresult(&buffer);
  return 1;
}

int find(lua_State* lua) {
  const auto text = text_at(lua, 1);
  const auto part = text_at(lua, 2);
  lua_Integer from = luaL_optinteger(lua, 3, 1);
  if (from < 0) from += static_cast<lua_Integer>(text.size()) + 1;
  from = std::max<lua_Integer>(from, 1);
  Sandbox::charge(lua, static_cast<std::int64_t>(text.size() * part.size() / 64));
  const auto at = text.find(part, static_cast<std::size_t>(from - 1));
  if (at == std::string_view::npos) return lua_pushnil(lua), 1;
  lua_pushinteger(lua, static_cast<lua_Integer>(at) + 1);
  lua_pushinteger(lua, static_cast<lua_Integer>(at) + static_cast<lua_Integer>(part.size()));
  return 2;
}

bool fits(std::string_view text, std::string_view form) {
  std::size_t t = 0, f = 0, star = std::string_view::npos, tried = 0;
  while (t < text.size()) {
    if (f < form.size() && form[f] == '*') {
      star = f++;
      tried = t;
    } else if (f < form.size() && (form[f] == '?' || form[f] == text[t])) {
      ++f, ++t;
    } else if (star != std::string_view::npos) {
      f = star + 1;
      t = ++tried;
    } else {
      return false;
    }
  }
  return std::all_of(form.begin() + static_cast<std::ptrdiff_t>(f), form.end(),
                     [](char c) { return c == '*'; });
}

int glob(lua_State* lua) {
  const auto text = text_at(lua, 1);
  const auto form = text_at(lua, 2);
  Sandbox::charge(lua, static_cast<std::int64_t>(1 + text.size() * form.size() / 8));
  lua_pushboolean(lua, fits(text, form) ? 1 : 0);
  return 1;
}

// Of writing one argument, in instructions: `flags` stand between the % and its letter. A number far
// from 1 has many digits, and a precision asks for more.
std::int64_t format_cost(lua_State* lua, int argument, std::string_view flags) {
  if (lua_type(lua, argument) == LUA_TSTRING)
    return kNumberCost + static_cast<std::int64_t>(text_at(lua, argument).size()) / 4;
  if (lua_isinteger(lua, argument) != 0) return kNumberCost;
  const double number = lua_tonumber(lua, argument);
  const int exponent = std::isfinite(number) && number != 0 ? std::abs(std::ilogb(number)) : 0;
  const std::size_t point = flags.find('.');
  int precision = 6;
  if (point != std::string_view::npos)
    std::from_chars(flags.data() + point + 1, flags.data() + flags.size(), precision);
  return kNumberCost + 4 * (std::clamp(precision, 0, 99) + exponent / 3);
}

// Upvalue: the library's own. Its %s and %p would show addresses.
int format(lua_State* lua) {
  const auto form = text_at(lua, 1);
  auto cost = static_cast<std::int64_t>(form.size()) / 4;
  int argument = 1;
  for (std::size_t i = form.find('%'); i != std::string_view::npos; i = form.find('%', i + 1)) {
    const std::size_t flags = i + 1;
    i = form.find_first_not_of("-+ #0123456789.", flags);
    if (i == std::string_view::npos) break;
    if (form[i] == 'p') luaL_error(lua, "string.format has no '%%p' here");
    if (form[i] != '%') cost += format_cost(lua, ++argument, form.substr(flags, i - flags));
  }
  Sandbox::charge(lua, cost);
  for (int i = 2; i <= lua_gettop(lua); ++i) {
    const int type = lua_type(lua, i);
    if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TUSERDATA)
      luaL_error(lua, "string.format takes numbers and texts, not a %s", luaL_typename(lua, i));
  }
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, 1);
  return 1;
}

// ---- table ----

// Upvalues: the library's own function, the cost of one element. Plain tables only: the length of
// another one is what its metatable says.
int on_plain_table(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_getmetatable(lua, 1) != 0) luaL_error(lua, "this function takes tables of your own");
  Sandbox::charge(lua, 1);
  Sandbox::charge_each(lua, lua_rawlen(lua, 1), lua_tointeger(lua, lua_upvalueindex(2)));
  lua_pushvalue(lua, lua_upvalueindex(1));
  lua_insert(lua, 1);
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

// At the end, which is nearly always meant, they cost nothing.
int insert(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_gettop(lua) != 2 || lua_getmetatable(lua, 1) != 0) return on_plain_table(lua);
  lua_rawseti(lua, 1, static_cast<lua_Integer>(lua_rawlen(lua, 1) + 1));
  return 0;
}

int remove(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (lua_gettop(lua) != 1 || lua_getmetatable(lua, 1) != 0) return on_plain_table(lua);
  const auto last = static_cast<lua_Integer>(lua_rawlen(lua, 1));
  lua_rawgeti(lua, 1, last);
  if (last == 0) return 1;
  lua_pushnil(lua);
  lua_rawseti(lua, 1, last);
  return 1;
}

int unpack(lua_State* lua) {
  lua_settop(lua, 1);
  return on_plain_table(lua);
}

// ---- assembling ----

struct TableFunction {
  const char* name;
  lua_CFunction function;
  lua_Integer cost;  // of an element, in eighths of an instruction
};

constexpr std::array kTableFunctions = {
    TableFunction{"insert", insert, 8}, TableFunction{"remove", remove, 8},
    TableFunction{"concat", on_plain_table, 8}, TableFunction{"sort", on_plain_table, 320},
    TableFunction{"unpack", unpack, 4}};

constexpr std::array kBase = {"_G",     "_VERSION", "assert", "error",  "getmetatable",
                              "ipairs", "rawequal", "rawget", "rawlen", "rawset",
                              "select", "tonumber", "type"};
constexpr std::array kString = {"byte",    "char", "len",   "lower",
                                "reverse", "sub",  "upper", "format"};

// Of the table on top, only `kept` stays.
template <std::size_t n>
void keep_only(lua_State* lua, const std::array<const char*, n>& kept) {
  std::vector<std::string> gone;
  for (lua_pushnil(lua); lua_next(lua, -2) != 0; lua_pop(lua, 1)) {
    const std::string key = lua_tostring(lua, -2);
    if (std::find(kept.begin(), kept.end(), key) == kept.end()) gone.push_back(key);
  }
  for (const auto& key : gone) {
    lua_pushnil(lua);
    lua_setfield(lua, -2, key.c_str());
  }
}

void set_function(lua_State* lua, const char* name, lua_CFunction function) {
  lua_pushcfunction(lua, function);
  lua_setfield(lua, -2, name);
}

void open_base(lua_State* lua) {
  luaL_requiref(lua, "_G", luaopen_base, 1);
  keep_only(lua, kBase);
  set_function(lua, "pairs", pairs);
  set_function(lua, "next", next_key);
  set_function(lua, "pcall", protected_call);
  set_function(lua, "setmetatable", set_metatable);
  set_function(lua, "tostring", to_text);
  set_function(lua, "glob", glob);
}

void open_string(lua_State* lua) {
  luaL_requiref(lua, "string", luaopen_string, 1);
  lua_getfield(lua, -1, "format");
  lua_pushcclosure(lua, format, 1);
  lua_setfield(lua, -2, "format");
  keep_only(lua, kString);
  set_function(lua, "rep", repeat);
  set_function(lua, "find", find);
}

void open_table(lua_State* lua) {
  luaL_requiref(lua, "table", luaopen_table, 0);
  lua_newtable(lua);
  for (const auto& [name, function, cost] : kTableFunctions) {
    lua_getfield(lua, -2, name);
    lua_pushinteger(lua, cost);
    lua_pushcclosure(lua, function, 2);
    lua_setfield(lua, -2, name);
  }
  lua_setglobal(lua, "table");
  lua_pop(lua, 1);
}

void open_math(lua_State* lua, std::uint64_t seed) {
  luaL_requiref(lua, "math", luaopen_math, 1);
  lua_getfield(lua, -1, "randomseed");
  lua_pushinteger(lua, static_cast<lua_Integer>(seed));
  lua_call(lua, 1, 0);
  lua_pushnil(lua);
  lua_setfield(lua, -2, "randomseed");
  lua_pop(lua, 1);
}

}  // namespace

int push_pairs(lua_State* lua, int index) {
  lua_pushvalue(lua, index);
  push_keys(lua, -1);
  lua_pushinteger(lua, 1);
  lua_pushcclosure(lua, next_pair, 3);
  lua_pushnil(lua);
  lua_pushnil(lua);
  return 3;
}

void open_library(lua_State* lua, std::uint64_t seed) {
  open_base(lua);
  open_string(lua);
  open_table(lua);
  open_math(lua, seed);
  lua_settop(lua, 0);
}

}  // namespace paceline
