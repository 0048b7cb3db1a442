// The largest parts of its running time that a job may lose to being disturbed for others, by stops and by
// resizes: 0.03 is 3 %; 1: all of it, so that nothing protects it. plan/protection.hpp has the law.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

struct LossLimits {
  double stops = 0.03;
  double resizes = 0.1;
  friend bool operator==(const LossLimits&, const LossLimits&) = default;
};

// "3%", "0.5%", "0%", "100%" → 0.03, 0.005, 0, 1. Errors: invalid.
Result<double> parse_loss_limit(std::string_view text);

}  // namespace paceline
