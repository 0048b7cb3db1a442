#include "sim/truth/pace.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace paceline::sim {

Pace::Pace(std::vector<Stage> stages) : speed_(1) {
  check(!stages.empty() && stages.back().until <= 0, "stages lead to the end");
  stages_ = std::make_unique<const std::vector<Stage>>(std::move(stages));
}

Pace Pace::times(double factor) && {
  if (factor == 1) return std::move(*this);
  if (!stages_) return Pace(speed_ * factor);
  std::vector<Stage> stages = *stages_;
  for (Stage& stage : stages) stage.speed *= factor;
  return Pace(std::move(stages));
}

double Pace::us_for(double left, double until) const {
  if (!stages_) return (left - until) / speed_;
  double us = 0;
  for (const Stage& stage : *stages_) {
    const double end = std::max(stage.until, until);
    if (left <= end) continue;
    us += (left - end) / stage.speed;
    left = end;
  }
  return us;
}

double Pace::left_after(double left, double us) const {
  if (!stages_) return std::max(0.0, left - us * speed_);
  for (const Stage& stage : *stages_) {
    if (left <= stage.until) continue;
    const double whole = (left - stage.until) / stage.speed;
    if (us <= whole) return std::max(0.0, left - us * stage.speed);
    us -= whole;
    left = stage.until;
  }
  return 0;
}

}  // namespace paceline::sim
