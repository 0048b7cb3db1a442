#include "sim/truth/learning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/check.hpp"

namespace paceline::sim {
namespace {

constexpr double kPowerScale = 9;  // a whole training has seen ten times what its first part had
constexpr std::string_view kExponential = "exp=", kPower = "power=", kTable = "table=";

bool rises(const Points<double>& points) {
  return std::ranges::adjacent_find(points, [](const auto& a, const auto& b) {
           return a.second >= b.second;
         }) == points.end();
}

std::optional<double> above_zero(std::string_view text) {
  const auto number = number_of<double>(text);
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace

LearningCurve LearningCurve::exponential(double rate) {
  check(rate > 0, "a model gets better");
  LearningCurve curve;
  curve.parameter_ = rate;
  return curve;
}

LearningCurve LearningCurve::power(double exponent) {
  check(exponent > 0, "a model gets better");
  LearningCurve curve;
  curve.shape_ = Shape::power;
  curve.parameter_ = exponent;
  return curve;
}

LearningCurve LearningCurve::table(Points<double> points) {
  check(!points.empty() && rises(points), "a model gets better");
  LearningCurve curve;
  curve.shape_ = Shape::table;
  curve.points_ = std::move(points);
  return curve;
}

double LearningCurve::at(double part) const {
  switch (shape_) {
    case Shape::exponential:
      return 1 - std::exp(-parameter_ * part);
    case Shape::power:
      return 1 - std::pow(1 + kPowerScale * part, -parameter_);
    case Shape::table:
      break;
  }
  return value_at(points_, part);
}

std::string LearningCurve::text() const {
  switch (shape_) {
    case Shape::exponential:
      return fmt::format("{}{}", kExponential, parameter_);
    case Shape::power:
      return fmt::format("{}{}", kPower, parameter_);
    case Shape::table:
      break;
  }
  return fmt::format("{}{}", kTable, points_text(points_));
}

Result<LearningCurve> parse_learning(std::string_view text) {
  if (text.starts_with(kExponential)) {
    if (const auto rate = above_zero(text.substr(kExponential.size())))
      return LearningCurve::exponential(*rate);
  }
  if (text.starts_with(kPower)) {
    if (const auto exponent = above_zero(text.substr(kPower.size())))
      return LearningCurve::power(*exponent);
  }
  if (text.starts_with(kTable)) {
    auto points = parse_points<double>(text.substr(kTable.size()));
    if (points && rises(*points)) return LearningCurve::table(std::move(*points));
  }
  return fail(ErrorCode::invalid, fmt::format("'{}' is no learning curve.", text),
              "Give exp=3, power=0.5, or a table of parts and values that rise: "
              "table=0:0.1,0.5:0.8,1:0.95.");
}

std::string TargetPart::text() const {
  return low == high ? fmt::format("{}", low) : fmt::format("{}..{}", low, high);
}

Result<TargetPart> parse_target_part(std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto low = above_zero(text.substr(0, dots));
  const auto high = dots == std::string_view::npos ? low : above_zero(text.substr(dots + 2));
  if (low && high && *low <= *high && *high <= 1) return TargetPart{*low, *high};
  return fail(ErrorCode::invalid, fmt::format("'{}' is no part of a training.", text),
              "Give a number above 0 and at most 1, or a range of them: 0.5..0.9.");
}

}  // namespace paceline::sim
