// How much faster a simulated job trains with n workers than with one: the truth that estimates
// have to find out.
//
//   linear         n
//   amdahl=F       1 / (F + (1 - F) / n), F the part that doesn't speed up, 0 <= F <= 1
//   table=1:1,…    measured at some sizes; in between and to one worker linear, beyond them flat
//
// Source: Amdahl 1967; the tables are what AFS (NSDI'21) and FfDL call throughput profiles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/points.hpp"
#include "base/result.hpp"

namespace paceline::sim {

class Speedup {
 public:
  static Speedup linear() { return amdahl(0); }
  // REQUIRES: 0 <= serial <= 1.
  static Speedup amdahl(double serial);
  // REQUIRES: sizes rise, all numbers are above 0.
  static Speedup table(Points<std::int32_t> points);

  // 0 without workers.
  [[nodiscard]] double of(std::int32_t workers) const;
  [[nodiscard]] std::string text() const;  // as parse_speedup() reads it

 private:
  double serial_ = 0;
  Points<std::int32_t> points_;  // empty: Amdahl's
};

// Errors: invalid.
Result<Speedup> parse_speedup(std::string_view text);

}  // namespace paceline::sim
