// Where values lie on a chart, and what is written beside them.
#pragma once

#include <string>
#include <vector>

namespace paceline::sim {

struct Tick {
  double value = 0;
  std::string label;
};

class Axis {
 public:
  // Times, in seconds. REQUIRES: from < until.
  static Axis time(double from, double until, std::string title);
  // Times that differ by orders of magnitude: nothing below a second is told apart.
  static Axis log_time(double least, double most, std::string title);
  // Parts from 0 to 1.
  static Axis part(std::string title);

  // 0 at its beginning, 1 at its end; what lies outside is drawn there.
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] const std::vector<Tick>& ticks() const { return ticks_; }
  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] double from() const { return from_; }

 private:
  double from_ = 0, until_ = 1;
  bool log_ = false;
  std::vector<Tick> ticks_;
  std::string title_;
};

// A unit of time that numbers up to some size read well in.
struct TimeUnit {
  const char* name = "s";
  double seconds = 1;
};

TimeUnit unit_for(double seconds);
// Three digits that count: "0.42", "3.14", "12.3", "4096".
std::string short_number(double value);
// "12.3 h"
std::string span_text(double seconds);

}  // namespace paceline::sim
