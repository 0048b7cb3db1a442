// What all jobs of a user came to, those that were forgotten as well.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "base/time.hpp"
#include "model/state.hpp"

namespace paceline {

struct Usage {
  std::int64_t jobs = 0, waiting = 0, running = 0;
  std::int64_t slots = 0;  // leased now
  Duration waited{};
  double slot_seconds = 0;
  Bill lost;
};

// By user. The names live as long as the state isn't changed.
std::map<std::string_view, Usage> usage_by_user(const State& state, Time now);

}  // namespace paceline
