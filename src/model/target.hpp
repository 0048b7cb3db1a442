// A target: metric, direction, value, in two tiers. `deliver` is good enough to hand out, `final`
// is done; a target given as one expression has both tiers at the same value.
//
//   parse_target("accuracy>=0.95")->metric == "accuracy"
//   parse_target("accuracy>=0.95")->deliver == 0.95     the first tier; the final one is the same
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace paceline {

enum class Direction { at_least, at_most };

struct Target {
  std::string metric;
  Direction direction = Direction::at_least;
  double deliver = 0;
  double final = 0;

  friend bool operator==(const Target&, const Target&) = default;
};

std::string_view to_string(Direction direction);  // ">=" or "<="

// True if `value` meets `threshold` in the target's direction. NaN meets nothing.
bool meets(const Target& target, double threshold, double value);

// Errors: invalid, with the form expected.
Result<Target> parse_target(std::string_view expression);

// Two expressions, the deliver tier and the stricter final one; both must name one metric and
// direction.
Result<Target> parse_target(std::string_view deliver, std::string_view final);

std::string to_string(const Target& target);

}  // namespace paceline
