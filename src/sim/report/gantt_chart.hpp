// Which job held which slots when: nodes from above to below, their slots as rows, jobs as bars.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/axis.hpp"
#include "sim/report/canvas.hpp"

namespace paceline::sim {

struct GanttNode {
  std::string name;
  std::size_t rows = 0;
};

// A job in rows that follow each other, on one node.
struct GanttBar {
  std::size_t first_row = 0, rows = 1;
  double from = 0, until = 0;  // in the axis' values
  std::uint32_t job = 0;       // bars of one job have one colour
  std::string label;           // shown where there is room for it
  std::string about;
};

struct GanttChart {
  std::string title;
  Axis time;
  std::vector<GanttNode> nodes;
  std::vector<GanttBar> bars;
};

double height_of(const GanttChart& chart);
void draw(Canvas& canvas, const Rect& place, const GanttChart& chart);

}  // namespace paceline::sim
