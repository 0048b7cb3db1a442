// How good a simulated job's model is after each part of its training: the truth behind the metrics
// it reports and the moment at which it meets its target.
//
//   exp=K            1 - e^(-K x), x the part trained; K > 0
//   power=C          1 - (1 + 9 x)^(-C), the usual shape of a loss against data; C > 0
//   table=0:0.1,…    measured: parts and values, both rising; in between linear, beyond them flat
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/points.hpp"
#include "base/result.hpp"

namespace paceline::sim {

// What the metric is called in reports and targets. More is better.
inline constexpr std::string_view kQuality = "quality";

class LearningCurve {
 public:
  // REQUIRES: above 0.
  static LearningCurve exponential(double rate);
  static LearningCurve power(double exponent);
  // REQUIRES: both rise.
  static LearningCurve table(Points<double> points);

  [[nodiscard]] double at(double part) const;
  [[nodiscard]] std::string text() const;  // as parse_learning() reads it

 private:
  enum class Shape { exponential, power, table };
  Shape shape_ = Shape::exponential;
  double parameter_ = 1;
  Points<double> points_;
};

// Errors: invalid.
Result<LearningCurve> parse_learning(std::string_view text);

// After which part of its training a job meets its target: drawn evenly between the two.
struct TargetPart {
  double low = 1, high = 1;
  [[nodiscard]] std::string text() const;  // as parse_target_part() reads it
  friend bool operator==(const TargetPart&, const TargetPart&) = default;
};

// "0.7" or "0.5..0.9", above 0 and at most 1. Errors: invalid.
Result<TargetPart> parse_target_part(std::string_view text);

}  // namespace paceline::sim
