// How a gang's work goes: at one speed, or at one after another as its training comes along. Work
// and time are in microseconds; at a speed of 1, that of the wanted size, they are the same.
//
//   const Pace pace({{.until = 60, .speed = 2}, {.until = 0, .speed = 0.5}});
//   pace.us_for(100, 40) == 60       forty at 2, twenty at 0.5
//   pace.left_after(100, 60) == 40
#pragma once

#include <memory>
#include <vector>

namespace paceline::sim {

class Pace {
 public:
  struct Stage {
    double until = 0;  // so much work is left
    double speed = 1;  // above 0
  };

  explicit Pace(double speed = 1) : speed_(speed) {}
  // REQUIRES: `until` falls from stage to stage, to 0 or below in the last.
  explicit Pace(std::vector<Stage> stages);

  // The same so many times as fast. REQUIRES: factor > 0.
  [[nodiscard]] Pace times(double factor) &&;

  // Time from when `left` is left until when `until` is. REQUIRES: left >= until >= 0.
  [[nodiscard]] double us_for(double left, double until) const;
  // What is left of it that much later; at least 0.
  [[nodiscard]] double left_after(double left, double us) const;

 private:
  double speed_;
  std::unique_ptr<const std::vector<Stage>> stages_;  // nullptr: one speed
};

}  // namespace paceline::sim
