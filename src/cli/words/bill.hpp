// Slot-seconds lost, as the API tells them: `{"preemption": 0, "resize": 3.1, "failure": 0}`.
#pragma once

#include <array>
#include <string_view>

#include "cli/words/document.hpp"

namespace paceline {

inline constexpr std::array<std::string_view, 3> kCauses = {"preemption", "resize", "failure"};

// Of all causes together.
inline double total_of(const Document& bill) {
  double sum = 0;
  for (const auto cause : kCauses) sum += number_of(bill, cause).value_or(0);
  return sum;
}

}  // namespace paceline
