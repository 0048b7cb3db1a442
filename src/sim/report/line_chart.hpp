// Curves of steps over two axes, and the legend that names them.
#pragma once

#include <string>
#include <vector>

#include "sim/report/axis.hpp"
#include "sim/report/canvas.hpp"

namespace paceline::sim {

// From each point on the curve has its y, up to the next one. Before the first it is 0.
struct Curve {
  std::vector<Point> steps;  // in the axes' values, x rises
  bool goes_on = true;       // to the end of the axis; false: it ends at its last point
};

struct LineChart {
  std::string title;
  Axis x, y;
  std::vector<Curve> curves;  // each with the ink and dashes of its number
};

// Of a chart's place, left of its curves: for what is written beside its axis.
inline constexpr double kChartLeft = 58;

void draw(Canvas& canvas, const Rect& place, const LineChart& chart);

// Names in the order of the curves, above these, in as many lines as they need.
double legend_height(const std::vector<std::string>& names, double width);
void draw_legend(Canvas& canvas, const Rect& place, const std::vector<std::string>& names);

// The lower edge of a chart: a line with ticks and the title below it.
void draw_x_axis(Canvas& canvas, const Rect& plot, const Axis& axis);

}  // namespace paceline::sim
