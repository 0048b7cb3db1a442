#include "sim/report/gantt_chart.hpp"

#include <algorithm>

#include "sim/report/line_chart.hpp"

namespace paceline::sim {
namespace {

constexpr double kRow = 10, kNodeGap = 5, kSeam = 0.5;
constexpr double kGanttTop = 28, kGanttRight = 20, kGanttBottom = 42;
constexpr double kGanttText = 12, kLabelSize = 8.5;
constexpr double kNarrowest = 0.4;

double left_of(const GanttChart& chart) {
  double width = 0;
  for (const GanttNode& node : chart.nodes)
    width = std::max(width, width_of(node.name, kGanttText));
  return std::min(width, 140.0) + 16;
}

double rows_height(const GanttChart& chart) {
  double height = 0;
  for (const GanttNode& node : chart.nodes)
    height += static_cast<double>(node.rows) * kRow + kNodeGap;
  return height;
}

// The upper edge of each row.
std::vector<double> tops_of(const GanttChart& chart, double top) {
  std::vector<double> tops;
  for (const GanttNode& node : chart.nodes) {
    for (std::size_t i = 0; i < node.rows; ++i, top += kRow) tops.push_back(top);
    top += kNodeGap;
  }
  return tops;
}

// Jobs that come one after the other have colours far apart.
Ink ink_of(std::uint32_t job) { return {Ink::fill, std::size_t{job} * 5 % kFillInks}; }

void draw_nodes(Canvas& canvas, const Rect& plot, const GanttChart& chart) {
  double top = plot.y;
  for (const GanttNode& node : chart.nodes) {
    const double height = static_cast<double>(node.rows) * kRow;
    canvas.rect({plot.x, top, plot.width, height}, {Ink::grid}, {});
    canvas.text({plot.x - 8, top + height / 2 + 4}, node.name,
                {kGanttText, Anchor::end, {Ink::quiet}});
    top += height + kNodeGap;
  }
}

void draw_bar(Canvas& canvas, const Rect& bar, const GanttBar& what) {
  canvas.rect(bar, ink_of(what.job), what.about);
  const double needs = width_of(what.label, kLabelSize) + 4;
  if (what.label.empty() || bar.width < needs) return;
  canvas.text({bar.x + bar.width / 2, bar.y + bar.height / 2 + 3}, what.label,
              {kLabelSize, Anchor::middle, {Ink::label}});
}

}  // namespace

double height_of(const GanttChart& chart) { return kGanttTop + rows_height(chart) + kGanttBottom; }

void draw(Canvas& canvas, const Rect& place, const GanttChart& chart) {
  const double left = left_of(chart);
  const Rect plot{place.x + left, place.y + kGanttTop, place.width - left - kGanttRight,
                  rows_height(chart)};
  canvas.text({plot.x, place.y + 16}, chart.title, {13, Anchor::start, {Ink::text}, true});
  draw_nodes(canvas, plot, chart);
  const auto tops = tops_of(chart, plot.y);
  for (const GanttBar& bar : chart.bars) {
    const double from = plot.x + chart.time.place(bar.from) * plot.width;
    const double until = plot.x + chart.time.place(bar.until) * plot.width;
    draw_bar(canvas,
             {from, tops[bar.first_row], std::max(until - from - kSeam, kNarrowest),
              static_cast<double>(bar.rows) * kRow - kSeam},
             bar);
  }
  draw_x_axis(canvas, plot, chart.time);
}

}  // namespace paceline::sim
