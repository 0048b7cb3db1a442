// How the numbers of a table's column are written: in one unit, with as many decimals.
#pragma once

#include <span>
#include <string>

namespace paceline::sim {

class Scale {
 public:
  // Of seconds, parts of 1, and anything else that is counted.
  static Scale of_times(std::span<const double> seconds);
  static Scale of_parts();
  static Scale of_counts(std::span<const double> counts);

  [[nodiscard]] std::string text(double value) const;
  // "average JCT, h"
  [[nodiscard]] std::string title(const std::string& measure) const;

 private:
  double unit_ = 1;
  int decimals_ = 0;
  std::string name_;  // of the unit
};

}  // namespace paceline::sim
