// Where in a commit the server dies.
#pragma once

#include <cstddef>

namespace paceline::faults {

enum class CrashPoint {
  before_commit,    // nothing of it is there
  after_commit,     // all of it is durable, and nobody was told
  between_effects,  // some of what it calls forth was sent, the rest not
};
inline constexpr std::size_t kCrashPoints = 3;

}  // namespace paceline::faults
