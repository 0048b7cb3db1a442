#include "policy/lua/sandbox.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "policy/lua/library.hpp"

namespace paceline {
namespace {

constexpr int kStride = 1'000;
constexpr std::int64_t kLookEvery = 50'000;       // instructions: some 200 us of plain ones
constexpr std::size_t kBytesPerInstruction = 64;  // of memory asked for
constexpr std::size_t kTextHeader = 64;           // at most, of a string in memory
constexpr std::size_t kErrorTextMax = 500;
// Of a table, more than any limit admits. A sparse one is as long as its script says: up to 2^63.
constexpr std::uint64_t kElementsMax = 1ULL << 40;

int call_work(lua_State* lua) {
  const auto& work = *static_cast<const std::function<void(lua_State*)>*>(lua_touserdata(lua, 1));
  lua_settop(lua, 0);
  work(lua);
  return 0;
}

// Takes "NAME:LINE: " off the front; 0 if it isn't there.
int take_line(std::string& text, std::string_view name) {
  if (!text.starts_with(std::string(name) + ":")) return 0;
  int line = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + name.size() + 1, end, line);
  if (error != std::errc() || rest + 1 >= end || *rest != ':') return 0;
  text.erase(0, static_cast<std::size_t>(rest - text.data()) + 2);
  return line;
}

}  // namespace

Sandbox::Sandbox(std::string name, const SandboxLimits& limits, std::uint64_t seed)
    : name_(std::move(name)),
      limits_(limits),
      left_(limits.instructions),
      look_(limits.instructions - kLookEvery),
      began_(limits.time_used ? limits.time_used() : Duration{}),
      stride_(kStride) {
  lua_ = lua_newstate(allocate, this);
  check(lua_ != nullptr, "the memory of a sandbox holds an empty state");
  *static_cast<Sandbox**>(lua_getextraspace(lua_)) = this;
  lua_gc(lua_, LUA_GCSTOP);  // most scripts end before it would pay; at the limit it runs anyway
  const auto opened = protect([&](lua_State* lua) { open_library(lua, seed); });
  check(opened.has_value(), "a sandbox can be furnished within its limits");
  lua_sethook(lua_, count, LUA_MASKCOUNT, stride_);
}

Sandbox::~Sandbox() { lua_close(lua_); }

Sandbox& Sandbox::of(lua_State* lua) { return **static_cast<Sandbox**>(lua_getextraspace(lua)); }

// ---- memory ----

// A refusal makes Lua look through all it holds for garbage: that is work, too.
bool Sandbox::admits(std::size_t more, bool text) {
  hit_ = Limit::none;
  if (text && more > limits_.text_bytes + kTextHeader) hit_ = Limit::text;
  if (bytes_ + more > limits_.memory_bytes) hit_ = Limit::memory;
  left_ -= static_cast<std::int64_t>((hit_ == Limit::none ? more : bytes_) / kBytesPerInstruction);
  return hit_ == Limit::none;
}

void* Sandbox::allocate(void* self, void* block, std::size_t old_size, std::size_t new_size) {
  auto& sandbox = *static_cast<Sandbox*>(self);
  const bool text = block == nullptr && old_size == LUA_TSTRING;
  if (block == nullptr) old_size = 0;
  if (new_size > old_size && !sandbox.admits(new_size - old_size, text)) return nullptr;
  sandbox.bytes_ = sandbox.bytes_ - old_size + new_size;
  if (new_size > 0) return std::realloc(block, new_size);
  std::free(block);
  return nullptr;
}

// ---- instructions ----

// Once nothing is left, every further instruction raises the error again: a script that catches it
// gets no further.
void Sandbox::stop(lua_State* lua) {
  stride_ = 1;
  left_ = 0;
  lua_sethook(lua, count, LUA_MASKCOUNT, stride_);
  luaL_where(lua, 0);  // nowhere in a function of the library: then its caller
  if (lua_rawlen(lua, -1) == 0) luaL_where(lua, 1);
  lua_pushstring(lua, "it does not come to an end");
  lua_concat(lua, 2);
  lua_error(lua);
  std::abort();
}

void Sandbox::use(lua_State* lua, std::int64_t instructions) {
  left_ -= instructions;
  if (left_ <= look_) {
    look_ = left_ - kLookEvery;
    (void)is_late();
  }
  if (left_ <= 0 || late_) stop(lua);
}

bool Sandbox::is_late() {
  if (limits_.time_used) late_ = late_ || limits_.time_used() - began_ > limits_.time;
  return late_;
}

void Sandbox::count(lua_State* lua, lua_Debug*) {
  Sandbox& sandbox = of(lua);
  sandbox.use(lua, sandbox.stride_);
}

void Sandbox::charge(lua_State* lua, std::int64_t cost) {
  Sandbox& sandbox = of(lua);
  sandbox.use(lua, std::min(cost, sandbox.limits_.instructions));
}

void Sandbox::charge_each(lua_State* lua, std::uint64_t elements, std::int64_t eighths) {
  charge(lua, static_cast<std::int64_t>(std::min(elements, kElementsMax)) * eighths / 8);
}

// ---- running ----

Result<void> Sandbox::protect(const std::function<void(lua_State*)>& work) {
  lua_settop(lua_, 0);
  lua_pushcfunction(lua_, call_work);
  lua_pushlightuserdata(lua_, const_cast<void*>(static_cast<const void*>(&work)));
  return outcome(lua_pcall(lua_, 1, 0, 0));
}

Result<void> Sandbox::run(std::string_view text) {
  lua_settop(lua_, 0);
  const std::string chunk = "=" + name_;
  const int status = luaL_loadbufferx(lua_, text.data(), text.size(), chunk.c_str(), "t");
  if (status == LUA_OK && is_late()) left_ = 0;  // compiling is no instruction
  return outcome(status == LUA_OK && left_ > 0 ? lua_pcall(lua_, 0, 0, 0) : status);
}

// A script that used up a limit failed, even if it caught the error itself.
Result<void> Sandbox::outcome(int status) {
  if (left_ <= 0) {
    std::string text = status == LUA_OK ? "" : error_text();
    Error error = over(late_ ? Limit::time : Limit::instructions);
    if (const int line = take_line(text, name_); line > 0)
      error.message += fmt::format(" It was at line {}.", line);
    return fail(std::move(error));
  }
  if (status == LUA_OK) return {};
  if (status == LUA_ERRMEM) return fail(over(hit_));
  return fail(failure(error_text()));
}

// Never calls back into the script, as __tostring would.
std::string Sandbox::error_text() {
  std::size_t size = 0;
  const bool readable = lua_type(lua_, -1) == LUA_TSTRING || lua_type(lua_, -1) == LUA_TNUMBER;
  if (!readable)
    return fmt::format("it raised an error that is a {}, no text", luaL_typename(lua_, -1));
  const char* text = lua_tolstring(lua_, -1, &size);
  return to_utf8({text, std::min(size, kErrorTextMax)});
}

Error Sandbox::failure(std::string text) const {
  const int line = take_line(text, name_);
  const std::string where = line > 0 ? fmt::format(" in line {}", line) : std::string();
  return {ErrorCode::invalid, fmt::format("The policy {} fails{}: {}.", name_, where, text),
          "Correct the script and load it again: 'paceline policy load FILE'.", Retry::useless};
}

Error Sandbox::over(Limit limit) const {
  if (limit == Limit::instructions)
    return {ErrorCode::invalid,
            fmt::format("The policy {} does not come to an end within {} instructions.", name_,
                        limits_.instructions),
            "Look for an endless loop, or for a loop over all jobs inside another.",
            Retry::useless};
  if (limit == Limit::time)
    return {ErrorCode::invalid,
            fmt::format("The policy {} computes for more than {} seconds.", name_,
                        to_seconds(limits_.time)),
            "Look for a loop that turns numbers into texts, or make a long script shorter.",
            Retry::useless};
  if (limit == Limit::text)
    return {
        ErrorCode::invalid,
        fmt::format("The policy {} makes a text of more than {} bytes.", name_, limits_.text_bytes),
        "Keep texts short; lists belong into tables.", Retry::useless};
  return {ErrorCode::invalid,
          fmt::format("The policy {} uses more than {} MiB of memory.", name_,
                      limits_.memory_bytes >> 20),
          "Look for a table that grows in a loop.", Retry::useless};
}

}  // namespace paceline
