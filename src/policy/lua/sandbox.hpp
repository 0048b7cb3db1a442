// A Lua state that can compute and nothing else: no files, clock, environment, network or code from
// elsewhere, and limits that no script can lift, not even with pcall. What it computes depends on
// what it is given alone: pairs() goes in the order of the keys, nothing shows an address, chance
// comes from a seed that is given too.
//
//   Sandbox sandbox("mine", {});
//   if (auto ok = sandbox.run(text); !ok) …
//   sandbox.protect([](lua_State* lua) { … });
//
// Errors of a script are C++ exceptions inside (the library is built so): they unwind our frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <lua.hpp>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

struct SandboxLimits {
  std::int64_t instructions = 20'000'000;  // of Lua's machine; what library functions do counts too
  std::size_t memory_bytes = 64U << 20;
  std::size_t text_bytes = 4096;  // of any one string: comparing and joining two is one instruction
  // Of the processor; for instructions that take long, as turning numbers into texts does. It counts
  // only where somebody tells it: a script that is held again elsewhere fails by what it does alone.
  Duration time = std::chrono::seconds{1};
  std::function<Duration()> time_used = {};  // by this thread, since any moment
};

// luaL_error(), which no compiler knows never to return.
template <class... Arguments>
[[noreturn]] void raise_error(lua_State* lua, const char* format, Arguments... arguments) {
  luaL_error(lua, format, arguments...);
  std::abort();
}

class Sandbox {
 public:
  // `name` is how errors call the script. `seed` is where math.random starts.
  Sandbox(std::string name, const SandboxLimits& limits, std::uint64_t seed = 0);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Compiles the text and runs it. Errors: invalid: syntax, a failure with its line, a limit.
  Result<void> run(std::string_view text);

  // Runs `work`, which may raise Lua errors. Errors: as of run().
  Result<void> protect(const std::function<void(lua_State*)>& work);

  // Instructions used so far.
  [[nodiscard]] std::int64_t used() const { return limits_.instructions - left_; }

  // For functions that a script calls: counts `cost` instructions as done. Raises if none is left.
  static void charge(lua_State* lua, std::int64_t cost);
  // The same for each element of a table, in eighths of an instruction. REQUIRES: at most 1,000.
  static void charge_each(lua_State* lua, std::uint64_t elements, std::int64_t eighths);

 private:
  enum class Limit { none, instructions, time, memory, text };

  static void* allocate(void* self, void* block, std::size_t old_size, std::size_t new_size);
  static void count(lua_State* lua, lua_Debug*);
  static Sandbox& of(lua_State* lua);
  bool admits(std::size_t more, bool text);
  void use(lua_State* lua, std::int64_t instructions);
  bool is_late();
  [[noreturn]] void stop(lua_State* lua);
  Result<void> outcome(int status);
  Error failure(std::string text) const;
  [[nodiscard]] Error over(Limit limit) const;
  std::string error_text();

  std::string name_;
  SandboxLimits limits_;
  std::int64_t left_;  // instructions
  std::int64_t look_;  // at the time, once no more than these are left
  Duration began_{};   // by time_used
  bool late_ = false;  // the time is up
  int stride_;         // instructions between two looks at what is left
  std::size_t bytes_ = 0;
  Limit hit_ = Limit::none;  // the allocation refused last
  lua_State* lua_ = nullptr;
};

}  // namespace paceline
