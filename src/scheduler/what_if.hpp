// What would start a waiting job sooner: plays the present with the job changed, each change by
// itself, and keeps those that help. Nothing is guessed: a change that is named was played.
//
//   what_ifs({parts, now, decider, placer, protects, clock}, job)
//     → {{Changed::slots, 1, now}}: with --slots 1 it starts now
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "forecast/forecast.hpp"

namespace paceline {

// Fewer slots; any device; no required place; other jobs on its nodes.
enum class Changed { slots, devices, affinity, exclusive };
std::string_view to_string(Changed changed);

struct WhatIf {
  Changed changed = Changed::slots;
  std::int64_t slots = 0;  // of `slots` alone: so many instead
  Time starts_at;          // likeliest
  friend bool operator==(const WhatIf&, const WhatIf&) = default;
};

inline constexpr std::size_t kWhatIfsMax = 3;
inline constexpr Duration kWhatIfBudget = std::chrono::milliseconds{400};

struct Playground {
  const StateParts& parts;
  Time now;
  Decider decider;
  const Placer& placer;
  Protects protects;
  std::function<Time()> clock;  // for the budget
};

// The soonest first, at most kWhatIfsMax; of sizes the largest that starts first. A play that the
// budget ends before the job starts says nothing.
std::vector<WhatIf> what_ifs(const Playground& playground, JobId job);

}  // namespace paceline
