#include "cli/client/persistence.hpp"

#include <algorithm>

#include "cli/client/api.hpp"
#include "cli/client/interrupt.hpp"

namespace paceline {
namespace {

constexpr Duration kPauseMin = std::chrono::milliseconds{20};
constexpr Duration kPauseMax = std::chrono::seconds{2};

}  // namespace

bool Persistence::again(const Error& error) {
  if (!is_away(error) || Interrupt::pending() != 0) return false;
  if (!told_ && pause_ > Duration{}) {
    console_.note("The server went away; waiting for it to come back. Jobs go on meanwhile.");
    told_ = true;
  }
  pause_ = std::clamp(pause_ * 2, kPauseMin, kPauseMax);
  return Interrupt::sleep(pause_);
}

void Persistence::over() {
  pause_ = {};
  if (std::exchange(told_, false)) console_.note("The server is back.");
}

}  // namespace paceline
