#include "store/failed_check.hpp"

#include <string_view>
#include <utility>

#include "base/check_hook.hpp"

namespace paceline {
namespace {

struct CheckFailed {
  std::string what;
};

thread_local int guarded = 0;  // calls of failed_check() that this thread is in

void throw_if_guarded(std::string_view what) {
  if (guarded > 0) throw CheckFailed{std::string(what)};
}

[[maybe_unused]] const bool kInstalled = (set_check_hook(throw_if_guarded), true);

}  // namespace

std::optional<std::string> failed_check(const std::function<void()>& work) {
  struct Guard {
    Guard() { ++guarded; }
    ~Guard() { --guarded; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
  } const guard;
  try {
    work();
  } catch (CheckFailed& failed) {
    return std::move(failed.what);
  }
  return std::nullopt;
}

}  // namespace paceline
