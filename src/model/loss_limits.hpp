// How much a job may be disturbed for others: the largest parts of its running time that it may lose, by
// stops and by resizes (0.03 is 3 %; 1: all of it, so that nothing protects it), and how long it runs
// undisturbed at least. plan/protection.hpp has the law.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"

namespace paceline {

struct LossLimits {
  double stops = 0.03;
  double resizes = 0.1;
  Duration min_run =
      std::chrono::seconds{10};  // after its start, and after a resize, it loses nothing
  friend bool operator==(const LossLimits&, const LossLimits&) = default;
};

// "3%", "0.5%", "0%", "100%" → 0.03, 0.005, 0, 1. Errors: invalid.
Result<double> parse_loss_limit(std::string_view text);

// "10s", "2m" (base/span.hpp). Errors: invalid.
Result<Duration> parse_min_run(std::string_view text);

}  // namespace paceline
