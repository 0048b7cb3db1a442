// How the clock on the wall of the server's machine stood to the time line. What people are shown
// is labelled by it; instants that people name (a deadline) are found on the time line by it.
#pragma once

#include <string>
#include <vector>

#include "base/time.hpp"

namespace paceline {

// From `from` on the wall clock showed so much more than the time line.
struct ClockMark {
  Time from;
  Duration ahead{};
  friend bool operator==(const ClockMark&, const ClockMark&) = default;
};

inline constexpr std::size_t kClockMarksMax = 1'000;

// By time. Before the first mark both showed the same.
using ClockMarks = std::vector<ClockMark>;

// How far the wall clock was ahead then.
Duration ahead_at(const ClockMarks& marks, Time at);
// From `at` on it shows `by` more than before. Where there are too many marks, the oldest is
// forgotten: what was before is labelled as what came after. REQUIRES: no mark is later.
void set_ahead(ClockMarks& marks, Time at, Duration by);

// What the wall clock showed then.
inline WallTime shown(const ClockMarks& marks, Time at) {
  return WallTime{(at + ahead_at(marks, at)).time_since_epoch()};
}

// A boot of the server's machine, and where on the time line it was, had the line passed then.
struct Boot {
  std::string id;
  Time at;
  friend bool operator==(const Boot&, const Boot&) = default;
};

}  // namespace paceline
