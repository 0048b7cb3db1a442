#include "model/wall_clock.hpp"

#include <algorithm>

namespace paceline {

Duration ahead_at(const ClockMarks& marks, Time at) {
  const auto next = std::upper_bound(marks.begin(), marks.end(), at,
                                     [](Time t, const ClockMark& mark) { return t < mark.from; });
  return next == marks.begin() ? Duration{} : std::prev(next)->ahead;
}

void set_ahead(ClockMarks& marks, Time at, Duration by) {
  const Duration ahead = marks.empty() ? by : marks.back().ahead + by;
  if (!marks.empty() && marks.back().from == at)
    marks.back().ahead = ahead;
  else
    marks.push_back({at, ahead});
  if (marks.size() <= kClockMarksMax) return;
  marks.erase(marks.begin());
  marks.front().from = Time{};
}

}  // namespace paceline
