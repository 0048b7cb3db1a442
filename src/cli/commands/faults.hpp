// `paceline simulate --faults`: reads its options and shows what the faulty worlds saw.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/commands/command.hpp"

namespace paceline {

struct FaultsTyped {
  std::optional<std::string> seeds;  // "7" or "1..1000"; nothing: no faults are asked for
  bool story = false;
  std::int64_t threads = 0;  // 0: one per core
};

void declare_faults(Options& options, FaultsTyped& typed);

// `others`: options that belong to a trace and were given. Returns the exit code: 1 if something happened that must not. Errors: invalid.
Result<int> show_faults(Context& context, const FaultsTyped& typed, const Output& output,
                        std::span<const std::string_view> others, const ProgressBar& bar);

}  // namespace paceline
