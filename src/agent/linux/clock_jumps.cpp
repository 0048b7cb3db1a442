#include "agent/linux/clock_jumps.hpp"

#include <fmt/format.h>

#include <chrono>

namespace paceline::agent {
namespace {

constexpr Duration kJump = std::chrono::seconds{10};  // less is a clock that is being corrected
constexpr Duration kJumpsWithin = std::chrono::minutes{10};
constexpr std::size_t kJumpsMax = 2;

}  // namespace

void ClockJumps::look(Duration since_boot, WallTime wall) {
  const Duration booted = wall.time_since_epoch() - since_boot;
  const Duration by = booted_ ? booted - *booted_ : Duration::zero();
  booted_ = booted;
  if (std::chrono::abs(by) >= kJump) jumps_.push_back({since_boot, by});
  while (!jumps_.empty() && since_boot - jumps_.front().at > kJumpsWithin) jumps_.pop_front();
}

std::optional<std::string> ClockJumps::problem() const {
  if (jumps_.size() <= kJumpsMax) return std::nullopt;
  return fmt::format("Its clock jumped {} times within ten minutes, the last time by {:.0f} s.",
                     jumps_.size(), to_seconds(jumps_.back().by));
}

}  // namespace paceline::agent
